"""What is said to the site: one letter that it refuses takes no other with it."""

from __future__ import annotations

from pathlib import Path

from labnode_rig import LabProcess, SiteDouble, Volunteer, normal, save, wait_for

from goblin_wire.problems import Unavailable
from goblin_wire.states import JobState


def test_a_malformed_verdict_loses_no_other(lab: LabProcess, site: SiteDouble, data: Path) -> None:
    save(data, "a.npy", normal(640, 500))
    save(data, "b.npy", normal(500, 640, seed=1))
    job = lab.multiply("a.npy", "b.npy", out="c.npy").job
    units = lab.wait_units(job, lab.job(job).progress.units)
    site.refuse = Unavailable()
    leases = [Volunteer(lab).work(unit) for unit in units]
    lab.wait_state(job, JobState.DONE)
    assert not site.judged(job)
    site.malformed = {leases[1]}
    site.refuse = None
    others = {*leases[:1], *leases[2:]}
    wait_for(lambda: {each.lease for each in site.judged(job)} == others, 40, lab.log)
    wait_for(lambda: (job, "finish") in [(j, a.action) for j, a in site.actions], 10, lab.log)
