"""Rate limits: counted once each, shared by all, over by themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts.limits import Limit, hidden, network_of, purge
from accounts.models import RateLimit
from goblin_wire.problems import RateLimited

pytestmark = pytest.mark.django_db
AtOnce = Callable[[int, Callable[[], Any]], list[Any]]
LIMIT = Limit("tests", 3, timedelta(minutes=10))


def end_windows() -> None:
    for row in RateLimit.objects.all():
        row.ends -= timedelta(hours=1)
        row.save()


def test_counts_for_each_subject() -> None:
    for _ in range(3):
        LIMIT.count("a")
    with pytest.raises(RateLimited) as refused:
        LIMIT.count("a")
    assert 500 < (refused.value.retry_after or 0) <= 600
    assert "10 minutes" in refused.value.detail
    LIMIT.count("b")
    Limit("others", 3, timedelta(minutes=10)).count("a")


def test_require_counts_nothing() -> None:
    for _ in range(5):
        LIMIT.require("a")
    for _ in range(3):
        LIMIT.count("a")
    with pytest.raises(RateLimited):
        LIMIT.require("a")


def test_a_window_ends() -> None:
    for _ in range(3):
        LIMIT.count("a")
    end_windows()
    LIMIT.require("a")
    LIMIT.count("a")
    assert RateLimit.objects.get().count == 1


def test_purge_keeps_what_still_counts() -> None:
    LIMIT.count("a")
    assert purge() == 0
    end_windows()
    assert purge() == 1


def test_hidden_values_differ_by_kind() -> None:
    assert hidden("a", "x") == hidden("a", "x")
    assert len({hidden("a", "x"), hidden("b", "x"), hidden("a", "y"), hidden("ax", "")}) == 4


@pytest.mark.django_db(transaction=True)
def test_parallel_counts_let_exactly_so_many_through(at_once: AtOnce) -> None:
    answers = at_once(10, lambda: LIMIT.count("a"))
    assert sum(isinstance(answer, RateLimited) for answer in answers) == 7
    assert sum(answer is None for answer in answers) == 3


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("", ""),
        ("no address", "no address"),
    ],
)
def test_networks(address: str, network: str) -> None:
    assert network_of(address) == network
