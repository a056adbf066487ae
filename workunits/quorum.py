"""The quorum machine: what happens to a unit and its leases, as a pure function.

`decide(unit, copies, happening)` gives the new unit, the copies that changed and what is to be done
outside. It is independent of order: reports, timeouts, hand-backs, late reports and verdicts lead
to the same unit whichever comes first, because each lease's state follows from what is known about
it and the unit's state follows from its leases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from goblin_wire.fields import sentence
from goblin_wire.states import LeaseState, Policy, UnitState, VerdictKind
from workunits import limits


class Judgement(Struct, frozen=True):
    """A verdict as the lab signed it."""

    kind: VerdictKind
    outputs: tuple[str, ...]
    code: str = "ok"
    reason: str = ""


class Copy(Struct, frozen=True):
    """A lease on the unit; `judgement` may be known before the report."""

    lease: UUID
    index: int
    account: int
    host: int
    state: LeaseState
    outputs: tuple[str, ...] | None = None
    judgement: Judgement | None = None
    code: str = "ok"
    reason: str = ""


class Unit(Struct, frozen=True):
    """`wanted`: leases that may be given out now; `spared`: copies below it are forgiven."""

    state: UnitState
    policy: Policy
    copies: int
    wanted: int
    issued: int
    spared: int = 0
    code: str = "ok"
    chosen: UUID | None = None


# --- what may happen ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Reported:
    """The client says that it uploaded outputs with these digests."""

    lease: UUID
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The lab's verdict on one lease."""

    lease: UUID
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Expired:
    lease: UUID


@dataclass(frozen=True, slots=True)
class Returned:
    """The client hands the lease back."""

    lease: UUID
    code: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Lapsed:
    """No verdict came in time."""

    lease: UUID


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The job was cancelled."""


@dataclass(frozen=True, slots=True)
class Released:
    """An operator lets a quarantined unit go out again."""


Happening = Reported | Judged | Expired | Returned | Lapsed | Cancelled | Released


class Deed(StrEnum):
    """What a change asks for outside of the machine."""

    REPORTED = "reported"
    RETURNED = "returned"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    ACCEPTED = "accepted"
    CREDITED = "credited"
    BLAMED = "blamed"
    LAPSED = "lapsed"
    ENDED = "ended"
    QUARANTINED = "quarantined"
    RELEASED = "released"


class Action(Struct, frozen=True):
    deed: Deed
    copy: Copy | None = None
    code: str = "ok"
    reason: str = ""


class Outcome(Struct, frozen=True):
    unit: Unit
    changed: tuple[Copy, ...] = ()
    actions: tuple[Action, ...] = ()


# --- the table ----------------------------------------------------------------------------------
WAITING = frozenset({LeaseState.OPEN, LeaseState.EXPIRED, LeaseState.REPORTED})
"""Leases that may still become something."""
LIVE = frozenset({LeaseState.OPEN, LeaseState.REPORTED})
COUNTED = frozenset(
    {
        LeaseState.OPEN,
        LeaseState.REPORTED,
        LeaseState.ACCEPTED,
        LeaseState.REJECTED,
        LeaseState.LAPSED,
    }
)
"""The account of such a lease gets no other one on the unit."""
USED_UP = frozenset({LeaseState.REJECTED, LeaseState.EXPIRED, LeaseState.LAPSED})
DECIDED = frozenset({UnitState.ACCEPTED, UnitState.CANCELLED})

TABLE: dict[type, tuple[frozenset[LeaseState], LeaseState]] = {
    Reported: (frozenset({LeaseState.OPEN, LeaseState.EXPIRED}), LeaseState.REPORTED),
    Expired: (frozenset({LeaseState.OPEN}), LeaseState.EXPIRED),
    Returned: (frozenset({LeaseState.OPEN, LeaseState.EXPIRED}), LeaseState.RETURNED),
    Lapsed: (frozenset({LeaseState.REPORTED}), LeaseState.LAPSED),
}
"""Happening -> the states of its lease in which it means something, and the state it leads to."""

VERDICTS: dict[VerdictKind, LeaseState] = {
    VerdictKind.ACCEPTED: LeaseState.ACCEPTED,
    VerdictKind.REJECTED: LeaseState.REJECTED,
    VerdictKind.REISSUED: LeaseState.RETURNED,
}

DEEDS: dict[LeaseState, tuple[Deed, ...]] = {
    LeaseState.REPORTED: (Deed.REPORTED,),
    LeaseState.ACCEPTED: (Deed.CREDITED,),
    LeaseState.REJECTED: (Deed.BLAMED,),
    LeaseState.RETURNED: (Deed.RETURNED,),
    LeaseState.EXPIRED: (Deed.EXPIRED,),
    LeaseState.SUPERSEDED: (Deed.SUPERSEDED,),
    LeaseState.LAPSED: (Deed.LAPSED,),
    LeaseState.ENDED: (Deed.ENDED,),
}

FAULTS = frozenset({"bad_graph", "digest_mismatch", "failed", "memory"})
"""Codes of hand-backs that speak against the unit once several accounts say so."""
DECIDED_SENTENCE = "The unit was finished by another machine; thank you."
NEWER_SENTENCE = "Another lease of the same account on this unit took its place."
CANCELLED_SENTENCE = "The lab cancelled the job; nothing was wrong with your machine."
MISMATCH_SENTENCE = "The digests that were reported are not those of the uploaded bytes."
QUARANTINE = {
    "too_many_errors": "Several machines returned wrong results for this unit.",
    "too_many_copies": "This unit was given out too often without a result.",
    "unit_fault": "Several accounts cannot compute this unit.",
}


def needed(unit: Unit) -> int:
    """Accepted copies that decide the unit: one where a result is verified by itself."""
    return unit.copies if unit.policy is Policy.COMPARE else 1


def decide(unit: Unit, copies: Sequence[Copy], happening: Happening) -> Outcome:
    """The unit and its copies after `happening`; what means nothing any more changes nothing."""
    before = {copy.lease: copy for copy in copies}
    after = dict(before)
    match happening:
        case Cancelled():
            return _cancel(unit, before)
        case Released():
            return _release(unit, before)
        case Judged(lease, judgement):
            _judge(after, lease, judgement)
        case Reported() if unit.state in DECIDED:
            _thank(unit, after, happening.lease)
        case _:
            _move(after, happening)
    return _outcome(_settled(unit, after), before, after, was=unit)


def claimed(unit: Unit) -> Unit:
    """The unit after one more lease went out; the SQL of the claim does the same."""
    return replace(unit, state=UnitState.LEASED, wanted=unit.wanted - 1, issued=unit.issued + 1)


def rank(copies: Iterable[Copy]) -> int:
    """0 where a copy exists already, so that half-verified units are served first."""
    return 0 if any(copy.state in COUNTED for copy in copies) else 1


# --- leases -------------------------------------------------------------------------------------
def _move(copies: dict[UUID, Copy], happening: Reported | Expired | Returned | Lapsed) -> None:
    copy = copies.get(happening.lease)
    meaningful, target = TABLE[type(happening)]
    if copy is None or copy.state not in meaningful:
        return
    if isinstance(happening, Reported):
        _report(copies, copy, happening.outputs)
        return
    code, reason = "ok", ""
    if isinstance(happening, Returned):
        code, reason = happening.code, happening.reason
    copies[copy.lease] = replace(copy, state=target, code=code, reason=reason)


def _report(copies: dict[UUID, Copy], copy: Copy, outputs: tuple[str, ...]) -> None:
    """Take a report, a late one too unless the account's newer lease came further."""
    for other in list(copies.values()):
        if other.account != copy.account or other.lease == copy.lease:
            continue
        if other.state is LeaseState.OPEN:
            copies[other.lease] = _superseded(other, "newer_lease", NEWER_SENTENCE)
        elif other.state in COUNTED:
            copies[copy.lease] = _superseded(copy, "newer_lease", NEWER_SENTENCE)
            return
    reported = replace(copy, state=LeaseState.REPORTED, outputs=outputs)
    copies[copy.lease] = _agreed(reported) if copy.judgement is not None else reported


def _judge(copies: dict[UUID, Copy], lease: UUID, judgement: Judgement) -> None:
    """Take the first verdict on a lease; an accepting one waits for the report."""
    copy = copies.get(lease)
    if copy is None or copy.judgement is not None:
        return
    judged = replace(copy, judgement=judgement)
    accepts = judgement.kind is VerdictKind.ACCEPTED
    if copy.state not in WAITING or (accepts and copy.state is not LeaseState.REPORTED):
        copies[lease] = judged
    else:
        copies[lease] = _agreed(judged)


def _agreed(copy: Copy) -> Copy:
    """A lease whose verdict is in force."""
    judgement = copy.judgement
    assert judgement is not None  # noqa: S101 - both callers looked
    if judgement.kind is VerdictKind.ACCEPTED and judgement.outputs != copy.outputs:
        return replace(
            copy, state=LeaseState.RETURNED, code="digest_mismatch", reason=MISMATCH_SENTENCE
        )
    code = judgement.code
    if judgement.kind is not VerdictKind.ACCEPTED and code == "ok":
        code = judgement.kind.value
    return replace(copy, state=VERDICTS[judgement.kind], code=code, reason=judgement.reason)


def _thank(unit: Unit, copies: dict[UUID, Copy], lease: UUID) -> None:
    copy = copies.get(lease)
    if copy is None or copy.state not in {LeaseState.OPEN, LeaseState.EXPIRED}:
        return
    if unit.state is UnitState.CANCELLED:
        copies[lease] = _ended(copy)
    else:
        copies[lease] = _superseded(copy, "decided", DECIDED_SENTENCE)


def _superseded(copy: Copy, code: str, reason: str) -> Copy:
    return replace(copy, state=LeaseState.SUPERSEDED, code=code, reason=reason)


def _ended(copy: Copy) -> Copy:
    return replace(copy, state=LeaseState.ENDED, code="job_cancelled", reason=CANCELLED_SENTENCE)


# --- the unit -----------------------------------------------------------------------------------
def _settled(unit: Unit, copies: dict[UUID, Copy]) -> Unit:
    """The unit's state, as it follows from its leases. May supersede leases no longer needed."""
    if unit.state in DECIDED:
        return unit
    accepted = [copy for copy in copies.values() if copy.state is LeaseState.ACCEPTED]
    if len(accepted) >= needed(unit):
        _supersede_rest(copies)
        lowest = min(accepted, key=lambda copy: copy.index)
        return replace(unit, state=UnitState.ACCEPTED, wanted=0, code="ok", chosen=lowest.lease)
    if unit.state is UnitState.QUARANTINED:
        return unit
    return _standing(unit, list(copies.values()))


def _supersede_rest(copies: dict[UUID, Copy]) -> None:
    for copy in list(copies.values()):
        if copy.state in WAITING:
            copies[copy.lease] = _superseded(copy, "decided", DECIDED_SENTENCE)


def _standing(unit: Unit, copies: list[Copy]) -> Unit:
    promising = sum(c.state in LIVE or c.state is LeaseState.ACCEPTED for c in copies)
    stop = exhausted(unit, copies)
    if stop and promising < needed(unit):
        return replace(unit, state=UnitState.QUARANTINED, wanted=0, code=stop)
    wanted = 0 if stop else _missing(unit, copies, promising)
    return replace(unit, state=_unit_state(copies, wanted), wanted=wanted)


def _missing(unit: Unit, copies: list[Copy], promising: int) -> int:
    """Leases to give out, never so many that all of them failing would pass a cap."""
    room = min(
        _room_to_issue(unit, copies),
        limits.MAX_TOTAL - sum(_is_used_up(c, unit) or c.state in LIVE for c in copies),
        limits.MAX_ERRORS - sum(_is_error(c, unit) or c.state in LIVE for c in copies),
    )
    return max(0, min(max(unit.copies, needed(unit)) - promising, room))


def _unit_state(copies: list[Copy], wanted: int) -> UnitState:
    states = {copy.state for copy in copies}
    if LeaseState.OPEN in states:
        return UnitState.LEASED
    if not wanted and states & {LeaseState.REPORTED, LeaseState.ACCEPTED}:
        return UnitState.REPORTED
    return UnitState.OPEN


def exhausted(unit: Unit, copies: Iterable[Copy]) -> str:
    """The code of the cap that forbids another lease, or an empty string."""
    counted = [copy for copy in copies if copy.index >= unit.spared]
    if sum(_is_error(copy, unit) for copy in counted) >= limits.MAX_ERRORS:
        return "too_many_errors"
    if sum(_is_used_up(copy, unit) for copy in counted) >= limits.MAX_TOTAL:
        return "too_many_copies"
    if _room_to_issue(unit, counted) <= 0:
        return "too_many_copies"
    faults: dict[str, set[int]] = {}
    for copy in counted:
        if _is_fault(copy):
            faults.setdefault(copy.code, set()).add(copy.account)
    if any(len(accounts) >= limits.MAX_FAULTS for accounts in faults.values()):
        return "unit_fault"
    return ""


def _room_to_issue(unit: Unit, copies: Iterable[Copy]) -> int:
    """How many leases may still be made. A machine that was switched off is nobody's fault."""
    issued = unit.issued - unit.spared
    harmless = sum(copy.index >= unit.spared and _is_harmless(copy) for copy in copies)
    return min(limits.MAX_ISSUED - (issued - harmless), limits.MAX_ISSUED_AT_ALL - issued)


def _is_harmless(copy: Copy) -> bool:
    """Handed back with a code that says nothing about the unit."""
    handed_back = copy.state is LeaseState.RETURNED and copy.judgement is None
    return handed_back and copy.code not in FAULTS


def _is_fault(copy: Copy) -> bool:
    """Handed back with a code that speaks against the unit."""
    return copy.state is LeaseState.RETURNED and copy.code in FAULTS and copy.judgement is None


def _is_error(copy: Copy, unit: Unit) -> bool:
    return copy.index >= unit.spared and copy.state is LeaseState.REJECTED


def _is_used_up(copy: Copy, unit: Unit) -> bool:
    reissued = copy.state is LeaseState.RETURNED and copy.judgement is not None
    return copy.index >= unit.spared and (copy.state in USED_UP or reissued)


def _cancel(unit: Unit, before: dict[UUID, Copy]) -> Outcome:
    if unit.state in DECIDED:
        return Outcome(unit)
    after = {
        lease: _ended(copy) if copy.state in WAITING else copy for lease, copy in before.items()
    }
    return _outcome(
        replace(unit, state=UnitState.CANCELLED, wanted=0, code="job_cancelled"),
        before,
        after,
        was=unit,
    )


def _release(unit: Unit, before: dict[UUID, Copy]) -> Outcome:
    if unit.state is not UnitState.QUARANTINED:
        return Outcome(unit)
    freed = replace(unit, state=UnitState.OPEN, spared=unit.issued, code="ok")
    released = _standing(freed, list(before.values()))
    return Outcome(released, actions=(Action(Deed.RELEASED),))


# --- what follows -------------------------------------------------------------------------------
def _outcome(
    unit: Unit, before: dict[UUID, Copy], after: dict[UUID, Copy], *, was: Unit
) -> Outcome:
    changed = tuple(copy for lease, copy in after.items() if copy is not before[lease])
    actions = [
        Action(deed, copy, copy.code, copy.reason)
        for copy in changed
        if copy.state is not before[copy.lease].state
        for deed in DEEDS[copy.state]
    ]
    actions += _unit_actions(unit, was, after)
    return Outcome(unit, changed, tuple(actions))


def _unit_actions(unit: Unit, was: Unit, copies: dict[UUID, Copy]) -> list[Action]:
    actions = []
    if unit.state is UnitState.ACCEPTED is not was.state and unit.chosen is not None:
        actions.append(Action(Deed.ACCEPTED, copies[unit.chosen]))
    if unit.state is UnitState.QUARANTINED is not was.state:
        actions.append(Action(Deed.QUARANTINED, None, unit.code, _why_put_aside(unit, copies)))
    return actions


def _why_put_aside(unit: Unit, copies: dict[UUID, Copy]) -> str:
    """The sentence for the lab; with what the last of the machines said that could not do it."""
    told = [copy for copy in copies.values() if _is_fault(copy) and copy.reason]
    if unit.code != "unit_fault" or not told:
        return QUARANTINE[unit.code]
    last = max(told, key=lambda copy: copy.index)
    return sentence(f"{QUARANTINE[unit.code]} The last one said ({last.code}): {last.reason}")
