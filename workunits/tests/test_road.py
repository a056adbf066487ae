"""The road from registration to credit, once through."""

from __future__ import annotations

import pytest

from goblin_wire.capability import read
from goblin_wire.states import LeaseState, UnitState
from gpugoblin_site import keys
from workunits.models import CreditEntry
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_unit_is_leased_reported_verified_and_credited() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    job = lab.job(units=2)
    lab.events()

    leases = volunteer.ask(2).leases
    assert len(leases) == 2
    assert volunteer.ask(0, done=[done(lease) for lease in leases]).unknown == []

    events = lab.events().events
    assert sorted(e.kind for e in events) == ["leased", "leased", "reported", "reported"]
    assert {e.job for e in events} == {job.job}
    reported = [e for e in events if e.kind == "reported"]
    assert {tuple(e.outputs) for e in reported} == {tuple(done(x).outputs) for x in leases}

    outcomes = lab.judge(*[verdict(lease) for lease in leases]).outcomes
    assert {o.state for o in outcomes} == {LeaseState.ACCEPTED}
    assert {o.unit_state for o in outcomes} == {UnitState.ACCEPTED}

    settled = volunteer.ask().settled
    assert [(s.verdict, s.flops) for s in settled] == [("accepted", 1000)] * 2
    assert volunteer.ask().settled == []
    assert CreditEntry.objects.filter(account_id=volunteer.principal.account_id).count() == 2
    assert [e.kind for e in lab.events().events] == ["accepted", "accepted"]


def test_the_capability_says_what_the_lease_says() -> None:
    import time

    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    (lease,) = volunteer.ask(1).leases
    claims = read(lease.capability, keys.site_keys(), now=time.time())
    assert (claims.lease, claims.unit, claims.lab) == (lease.lease, lease.unit, lab.lab.key.hex)
    assert (claims.host, claims.output_bytes) == (volunteer.host, lease.output_bytes)
    assert lab.events().events[0].volunteer == claims.volunteer
