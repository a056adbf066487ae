"""The quorum machine: its table, and that order never matters."""

from __future__ import annotations

import itertools
import random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goblin_wire.states import (
    LEASE_MOVES,
    UNIT_MOVES,
    LeaseState,
    Policy,
    UnitState,
    VerdictKind,
)
from workunits import limits, quorum
from workunits.quorum import (
    Cancelled,
    Copy,
    Deed,
    Expired,
    Happening,
    Judged,
    Judgement,
    Lapsed,
    Outcome,
    Released,
    Reported,
    Returned,
    Unit,
    decide,
)

RIGHT, WRONG = ("aa" * 32,), ("bb" * 32,)


class Bench:
    """A unit with its leases, moved by the machine; every move is checked against the tables."""

    def __init__(self, copies: int = 1, policy: Policy = Policy.CHECK) -> None:
        self.unit = Unit(UnitState.OPEN, policy, copies, wanted=copies, issued=0)
        self.copies: dict[UUID, Copy] = {}
        self.credited: list[UUID] = []
        self.blamed: list[UUID] = []

    def state(self) -> UnitState:
        return self.unit.state

    def lease(self, account: int) -> UUID:
        assert self.unit.wanted > 0
        lease = UUID(int=len(self.copies) + 1)
        self.copies[lease] = Copy(lease, self.unit.issued, account, account, LeaseState.OPEN)
        self.unit = quorum.claimed(self.unit)
        return lease

    def may_have(self, account: int) -> bool:
        own = [c for c in self.copies.values() if c.account == account]
        counted = any(c.state in quorum.COUNTED for c in own)
        few = len(own) < limits.MAX_LEASES_PER_ACCOUNT_AND_UNIT
        return self.unit.wanted > 0 and few and not counted

    def happen(self, happening: Happening) -> Outcome:
        outcome = decide(self.unit, list(self.copies.values()), happening)
        if outcome.unit.state is not self.unit.state:
            assert outcome.unit.state in UNIT_MOVES[self.unit.state]
        for copy in outcome.changed:
            was = self.copies[copy.lease].state
            assert copy.state is was or copy.state in LEASE_MOVES[was]
            self.copies[copy.lease] = copy
        self.unit = outcome.unit
        for action in outcome.actions:
            if action.copy is not None and action.deed is Deed.CREDITED:
                self.credited.append(action.copy.lease)
            if action.copy is not None and action.deed is Deed.BLAMED:
                self.blamed.append(action.copy.lease)
        return outcome


def accept(lease: UUID, outputs: tuple[str, ...] = RIGHT) -> Judged:
    return Judged(lease, Judgement(VerdictKind.ACCEPTED, outputs))


def reject(lease: UUID) -> Judged:
    return Judged(lease, Judgement(VerdictKind.REJECTED, WRONG, "wrong_result", "It is wrong."))


def reissue(lease: UUID) -> Judged:
    return Judged(lease, Judgement(VerdictKind.REISSUED, WRONG, "storage_failed"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_report_and_verdict_in_either_order(order: tuple[int, ...]) -> None:
    bench = Bench()
    lease = bench.lease(1)
    happenings: list[Happening] = [Reported(lease, RIGHT), accept(lease)]
    for index in order:
        bench.happen(happenings[index])
    assert bench.state() is UnitState.ACCEPTED
    assert bench.unit.chosen == lease
    assert bench.credited == [lease]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_late_report_counts_whatever_came_between(order: tuple[int, ...]) -> None:
    bench = Bench()
    lease = bench.lease(1)
    happenings: list[Happening] = [Expired(lease), Reported(lease, RIGHT), accept(lease)]
    for index in order:
        bench.happen(happenings[index])
    assert bench.state() is UnitState.ACCEPTED
    assert bench.credited == [lease]


def test_row_02_the_only_result_is_rejected_and_another_copy_finishes() -> None:
    bench = Bench()
    bad = bench.lease(1)
    bench.happen(Reported(bad, WRONG))
    bench.happen(reject(bad))
    assert bench.state() is UnitState.OPEN
    assert bench.unit.wanted == 1
    assert not bench.may_have(1)
    good = bench.lease(2)
    bench.happen(Reported(good, RIGHT))
    bench.happen(accept(good))
    assert bench.unit.chosen == good
    assert bench.blamed == [bad]


@pytest.mark.parametrize(
    "code", ["shutting_down", "paused", "disk_full", "client_failed", "lab_unreachable"]
)
def test_row_04_hand_backs_never_kill_a_unit(code: str) -> None:
    bench = Bench(copies=2, policy=Policy.COMPARE)
    kept = bench.lease(999)
    bench.happen(Reported(kept, RIGHT))
    for account in range(200):
        bench.happen(Returned(bench.lease(account), code))
    assert bench.state() is UnitState.OPEN
    assert bench.copies[kept].state is LeaseState.REPORTED


def test_a_unit_is_not_given_out_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ISSUED_AT_ALL", 100)
    bench = Bench()
    while bench.unit.wanted:
        bench.happen(Returned(bench.lease(bench.unit.issued), "shutting_down"))
    assert (bench.state(), bench.unit.code) == (UnitState.QUARANTINED, "too_many_copies")
    assert bench.unit.issued == 100


def test_hand_backs_that_speak_against_the_unit_are_counted() -> None:
    bench = Bench()
    while bench.unit.wanted:
        # Of one account only, so that it is not for the number of accounts.
        bench.happen(Returned(bench.lease(1), "failed"))
    assert (bench.state(), bench.unit.code) == (UnitState.QUARANTINED, "too_many_copies")
    assert bench.unit.issued == limits.MAX_ISSUED


def test_row_05_a_storage_fault_is_a_retry_without_blame_and_without_a_loop() -> None:
    bench = Bench()
    rounds = 0
    while bench.unit.wanted:
        lease = bench.lease(rounds)
        bench.happen(Reported(lease, WRONG))
        bench.happen(reissue(lease))
        rounds += 1
    assert bench.state() is UnitState.QUARANTINED
    assert rounds == limits.MAX_TOTAL
    assert bench.blamed == []


def test_row_10_a_penalty_is_given_once() -> None:
    bench = Bench()
    lease = bench.lease(1)
    bench.happen(Reported(lease, WRONG))
    for _ in range(3):
        bench.happen(reject(lease))
        bench.happen(accept(lease))
    assert bench.blamed == [lease]
    assert bench.credited == []


def test_row_19_a_unit_with_a_copy_is_served_before_untouched_ones() -> None:
    bench = Bench(copies=2, policy=Policy.COMPARE)
    assert quorum.rank(bench.copies.values()) == 1
    bench.lease(1)
    assert quorum.rank(bench.copies.values()) == 0


def test_other_digests_than_judged_blame_nobody_and_the_unit_goes_out_again() -> None:
    bench = Bench()
    lease = bench.lease(1)
    bench.happen(Reported(lease, WRONG))
    bench.happen(accept(lease, RIGHT))
    assert bench.copies[lease].state is LeaseState.RETURNED
    assert bench.copies[lease].code == "digest_mismatch"
    assert bench.unit.wanted == 1
    assert bench.blamed == bench.credited == []


def test_a_late_report_takes_the_place_of_the_accounts_newer_lease() -> None:
    bench = Bench()
    old = bench.lease(1)
    bench.happen(Expired(old))
    new = bench.lease(1)
    bench.happen(Reported(old, RIGHT))
    assert bench.copies[new].state is LeaseState.SUPERSEDED
    assert bench.copies[old].state is LeaseState.REPORTED


def test_a_late_report_is_thanked_once_the_newer_lease_came_further() -> None:
    bench = Bench()
    old = bench.lease(1)
    bench.happen(Expired(old))
    new = bench.lease(1)
    bench.happen(Reported(new, RIGHT))
    bench.happen(Reported(old, RIGHT))
    assert bench.copies[old].state is LeaseState.SUPERSEDED
    assert bench.blamed == []


def test_a_report_after_the_decision_is_thanked() -> None:
    bench = Bench()
    late = bench.lease(1)
    bench.happen(Expired(late))
    other = bench.lease(2)
    bench.happen(Reported(other, RIGHT))
    bench.happen(accept(other))
    assert bench.copies[late].state is LeaseState.SUPERSEDED
    bench.happen(Reported(late, RIGHT))
    assert bench.copies[late].state is LeaseState.SUPERSEDED
    assert bench.credited == [other]


def test_a_comparison_needs_all_its_copies_and_uses_the_lowest() -> None:
    bench = Bench(copies=2, policy=Policy.COMPARE)
    first, second = bench.lease(1), bench.lease(2)
    for lease in (second, first):
        bench.happen(Reported(lease, RIGHT))
    bench.happen(accept(second))
    assert bench.state() is UnitState.REPORTED
    bench.happen(accept(first))
    assert bench.state() is UnitState.ACCEPTED
    assert bench.unit.chosen == first


def test_several_accounts_that_cannot_compute_it_put_a_unit_aside() -> None:
    bench = Bench()
    for account in range(limits.MAX_FAULTS):
        bench.happen(Returned(bench.lease(account), "bad_graph"))
    assert bench.state() is UnitState.QUARANTINED
    assert bench.unit.code == "unit_fault"
    bench.happen(Released())
    assert bench.state() is UnitState.OPEN
    assert bench.unit.wanted == 1


def test_row_26_the_lab_hears_what_the_machines_lacked() -> None:
    bench = Bench()
    for account in range(limits.MAX_FAULTS):
        reason = f"The unit needs {account + 7} bytes of memory; 6 may be used here."
        outcome = bench.happen(Returned(bench.lease(account), "memory", reason))
    (told,) = [each for each in outcome.actions if each.deed is Deed.QUARANTINED]
    assert "cannot compute this unit" in told.reason
    assert "(memory): The unit needs 9 bytes of memory; 6 may be used here." in told.reason


def test_a_late_verified_report_frees_a_quarantined_unit() -> None:
    bench = Bench()
    late = bench.lease(0)
    bench.happen(Expired(late))
    while bench.unit.wanted:
        lease = bench.lease(len(bench.copies) + 10)
        bench.happen(Reported(lease, WRONG))
        bench.happen(reject(lease))
    assert bench.state() is UnitState.QUARANTINED
    bench.happen(Reported(late, RIGHT))
    bench.happen(accept(late))
    assert bench.state() is UnitState.ACCEPTED


def test_cancelling_ends_what_is_under_way() -> None:
    bench = Bench(copies=2, policy=Policy.COMPARE)
    leases = [bench.lease(1), bench.lease(2)]
    bench.happen(Reported(leases[0], RIGHT))
    bench.happen(Cancelled())
    assert bench.state() is UnitState.CANCELLED
    assert {bench.copies[x].state for x in leases} == {LeaseState.ENDED}
    bench.happen(accept(leases[0]))
    assert bench.credited == []


def test_a_lapsed_report_blames_nobody_and_the_unit_goes_out_again() -> None:
    bench = Bench()
    lease = bench.lease(1)
    bench.happen(Reported(lease, RIGHT))
    bench.happen(Lapsed(lease))
    assert bench.copies[lease].state is LeaseState.LAPSED
    assert (bench.unit.wanted, bench.blamed) == (1, [])


FATES = ("accept", "reject", "reissue", "mismatch", "return", "vanish")


def story(lease: UUID, fate: str, expires: bool) -> list[Happening]:
    """All that will ever be said about one lease."""
    told: list[Happening] = [Expired(lease)] if expires or fate == "vanish" else []
    if fate == "return":
        return [*told, Returned(lease, "shutting_down")]
    if fate == "vanish":
        return told
    told.append(Reported(lease, RIGHT if fate == "accept" else WRONG))
    kinds = {"accept": accept, "mismatch": accept, "reject": reject, "reissue": reissue}
    return [*told, kinds[fate](lease)]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_order_leads_to_the_same_unit(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    fates = data.draw(st.lists(st.sampled_from(FATES), min_size=count, max_size=count))
    expires = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    seeds = data.draw(st.lists(st.integers(), min_size=2, max_size=2))
    ends = []
    for seed in seeds:
        bench = Bench(copies=count, policy=Policy.COMPARE)
        leases = [bench.lease(account) for account in range(count)]
        told = [
            happening
            for lease, fate, expire in zip(leases, fates, expires, strict=True)
            for happening in story(lease, fate, expire)
        ]
        random.Random(seed).shuffle(told)
        for happening in told * 2:
            bench.happen(happening)
        ends.append(
            (
                bench.unit.state,
                bench.unit.chosen,
                bench.unit.wanted,
                sorted(bench.credited),
                sorted(bench.blamed),
                [bench.copies[lease].state for lease in leases],
            )
        )
    assert ends[0] == ends[1]


class AnyOrder(RuleBasedStateMachine):
    """Leases, reports, timeouts, hand-backs, late reports and verdicts, as they come."""

    @initialize(copies=st.integers(1, 3), policy=st.sampled_from(Policy))
    def begin(self, copies: int, policy: Policy) -> None:
        self.bench = Bench(copies if policy is Policy.COMPARE else 1, policy)
        self.chosen: UUID | None = None

    def _pick(self, data: st.DataObject) -> UUID:
        return data.draw(st.sampled_from(sorted(self.bench.copies)))

    @rule(account=st.integers(1, 12))
    def lease(self, account: int) -> None:
        if self.bench.may_have(account):
            self.bench.lease(account)

    @precondition(lambda self: self.bench.copies)
    @rule(data=st.data(), right=st.booleans())
    def report(self, data: st.DataObject, right: bool) -> None:
        self.bench.happen(Reported(self._pick(data), RIGHT if right else WRONG))

    @precondition(lambda self: self.bench.copies)
    @rule(data=st.data(), kind=st.sampled_from(["accept", "reject", "reissue"]))
    def judge(self, data: st.DataObject, kind: str) -> None:
        make = {"accept": accept, "reject": reject, "reissue": reissue}[kind]
        self.bench.happen(make(self._pick(data)))

    @precondition(lambda self: self.bench.copies)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        self.bench.happen(Expired(self._pick(data)))

    @precondition(lambda self: self.bench.copies)
    @rule(data=st.data(), code=st.sampled_from(["shutting_down", "bad_graph", "cost_mismatch"]))
    def give_back(self, data: st.DataObject, code: str) -> None:
        self.bench.happen(Returned(self._pick(data), code))

    @precondition(lambda self: self.bench.copies)
    @rule(data=st.data())
    def lapse(self, data: st.DataObject) -> None:
        self.bench.happen(Lapsed(self._pick(data)))

    @rule()
    def release(self) -> None:
        self.bench.happen(Released())

    @invariant()
    def caps_hold(self) -> None:
        if not hasattr(self, "bench"):
            return
        unit, copies = self.bench.unit, list(self.bench.copies.values())
        recent = [c for c in copies if c.index >= unit.spared]
        harmless = sum(c.state is LeaseState.RETURNED for c in recent)
        assert unit.issued - unit.spared - harmless <= limits.MAX_ISSUED
        assert sum(c.state is LeaseState.REJECTED for c in recent) <= limits.MAX_ERRORS
        assert sum(c.state is LeaseState.OPEN for c in copies) + unit.wanted <= unit.copies
        for account in {c.account for c in copies}:
            own = [c for c in copies if c.account == account]
            assert sum(c.state in quorum.COUNTED for c in own) <= 1

    @invariant()
    def decisions_stand(self) -> None:
        if not hasattr(self, "bench"):
            return
        bench = self.bench
        assert len(set(bench.credited)) == len(bench.credited)
        assert not set(bench.credited) & set(bench.blamed)
        if bench.state() is UnitState.ACCEPTED:
            assert self.chosen in {None, bench.unit.chosen}
            self.chosen = bench.unit.chosen
            assert bench.unit.wanted == 0
            assert not any(c.state in quorum.WAITING for c in bench.copies.values())


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
