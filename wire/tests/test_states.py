"""Every state has an exit or is an end, and each table knows every state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest

from goblin_wire import states
from goblin_wire.states import JobState, LeaseState, RequestState, SignInState, UnitState

Moves = Mapping[Any, frozenset[Any]]
Table = tuple[type[StrEnum], Moves, StrEnum, set[StrEnum]]

TABLES: list[Table] = [
    (UnitState, states.UNIT_MOVES, UnitState.OPEN, {UnitState.ACCEPTED, UnitState.CANCELLED}),
    (
        LeaseState,
        states.LEASE_MOVES,
        LeaseState.OPEN,
        {
            LeaseState.ACCEPTED,
            LeaseState.REJECTED,
            LeaseState.RETURNED,
            LeaseState.SUPERSEDED,
            LeaseState.LAPSED,
            LeaseState.ENDED,
        },
    ),
    (JobState, states.JOB_MOVES, JobState.PLANNING, set(states.FINISHED_JOBS)),
    (
        RequestState,
        states.REQUEST_MOVES,
        RequestState.DRAFT,
        {RequestState.DECLINED, RequestState.WITHDRAWN, RequestState.REVOKED},
    ),
    (
        SignInState,
        states.SIGN_IN_MOVES,
        SignInState.PENDING,
        {SignInState.DENIED, SignInState.EXPIRED, SignInState.USED},
    ),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0].__name__)
def test_row_37_every_state_has_an_exit_and_can_be_reached(
    table: Table,
) -> None:
    kind, moves, start, ends = table
    assert set(moves) == set(kind)
    assert {state for state, targets in moves.items() if not targets} == ends
    reached, fresh = {start}, [start]
    while fresh:
        fresh = [new for state in fresh for new in moves[state] if new not in reached]
        reached.update(fresh)
    assert reached == set(kind)
    assert all(_ends(state, moves, ends) for state in kind)


def _ends(state: StrEnum, moves: Moves, ends: set[StrEnum]) -> bool:
    seen, fresh = {state}, [state]
    while fresh:
        fresh = [new for one in fresh for new in moves[one] if new not in seen]
        seen.update(fresh)
    return bool(seen & ends)


def test_no_state_moves_to_itself() -> None:
    for _, moves, _, _ in TABLES:
        assert all(state not in targets for state, targets in moves.items())
