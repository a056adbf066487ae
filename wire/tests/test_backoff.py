"""Waiting longer after each failure, never in step with others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.backoff import Backoff

chances = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=60)


@given(chances)
def test_each_wait_lies_between_half_and_the_whole_step(rolls: list[float]) -> None:
    left = list(rolls)
    backoff = Backoff(first=1.0, longest=300.0, chance=lambda: left.pop(0))
    for number in range(len(rolls)):
        step = min(300.0, 2.0**number)
        assert step / 2 <= backoff.failed() <= step


def test_success_starts_over() -> None:
    backoff = Backoff(chance=lambda: 1.0)
    waits = [backoff.failed() for _ in range(3)]
    backoff.succeeded()
    assert waits == [1.0, 2.0, 4.0]
    assert backoff.failed() == 1.0


@given(st.floats(0, 1e6))
def test_the_other_end_may_ask_for_more(retry_after: float) -> None:
    assert Backoff().failed(retry_after) >= retry_after


def test_row_25_an_hour_without_a_link_costs_few_attempts() -> None:
    backoff, spent, attempts = Backoff(chance=lambda: 0.0), 0.0, 0
    while spent < 3600:
        spent += backoff.failed()
        attempts += 1
    assert attempts < 40


def test_a_thousand_failures_do_not_overflow() -> None:
    backoff = Backoff()
    assert all(backoff.failed() <= 300 for _ in range(2000))


def test_two_clients_do_not_come_back_together() -> None:
    first = [Backoff().failed() for _ in range(50)]
    assert len(set(first)) > 40
