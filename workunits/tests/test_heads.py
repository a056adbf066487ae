"""The remembered head of a line: it saves a walk, and hides no unit for long."""

from __future__ import annotations

import pytest

from goblin_wire.exchange import Returned
from workunits import heads
from workunits.heads import BEGINNING, Place
from workunits.tests.world import Researcher, Volunteer


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_heads", {})


def test_only_the_head_of_a_long_line_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("workunits.heads.time.monotonic", lambda: now[0])
    heads.note(1, BEGINNING, Place(1, heads.LONG - 1))
    heads.note(2, BEGINNING, Place(0, heads.LONG))
    assert heads.head(1) == heads.head(2) == BEGINNING
    heads.note(1, BEGINNING, Place(1, heads.LONG))
    assert heads.head(1) == Place(1, heads.LONG + 1)


def test_a_look_from_the_beginning_comes_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("workunits.heads.time.monotonic", lambda: now[0])
    heads.note(1, BEGINNING, Place(1, 2000))
    for step in range(1, 20):
        now[0] += heads.FRESH_S / 20
        start = heads.head(1)
        assert start == Place(1, 2000 + step)
        heads.note(1, start, Place(1, 2000 + step))
    now[0] += heads.FRESH_S / 10
    assert heads.head(1) == BEGINNING


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_MOST", 2)
    for job in range(5):
        heads.note(job, BEGINNING, Place(1, heads.LONG))
    assert len(heads._heads) <= 2


@pytest.mark.django_db(transaction=True)
def test_a_unit_that_comes_back_before_the_head_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "LONG", 1)
    monkeypatch.setattr(heads, "FRESH_S", 60.0)
    lab, ada, bob = Researcher.make(), Volunteer.make(), Volunteer.make()
    lab.job(3)
    (first,) = ada.ask(1).leases
    (second,) = bob.ask(1).leases
    ada.ask(0, returned=[Returned(lease=first.lease, code="shutting_down")])
    (third,) = bob.ask(1).leases
    assert len({first.unit, second.unit, third.unit}) == 3
    assert [each.unit for each in bob.ask(1).leases] == [first.unit]
