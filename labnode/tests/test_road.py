"""The whole road: files, plan, panels, volunteers, check, output."""

from __future__ import annotations

from pathlib import Path

import numpy
from labnode_rig import LabProcess, SiteDouble, Volunteer, normal, save, wait_for

from goblin_wire.control import PartList, Report, ResultInfo
from goblin_wire.states import JobState, VerdictKind


def test_a_product_is_computed_verified_and_written(
    lab: LabProcess, site: SiteDouble, data: Path
) -> None:
    a, b = save(data, "a.npy", normal(900, 700)), save(data, "b.npy", normal(700, 800, seed=1))
    job = lab.multiply("a.npy", "b.npy", out="c.npy", name="first")
    volunteer = Volunteer(lab)
    units = site_units(lab, job.job)
    for unit in units:
        volunteer.work(unit)
    done = lab.wait_state(job.job, JobState.DONE)
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), a @ b, rtol=1e-3, atol=1e-3)
    assert done.progress.verified == done.progress.units == len(units)
    wait_for(lambda: len(site.judged(job.job)) == len(units), 5)
    assert {verdict.verdict for verdict in site.judged(job.job)} == {VerdictKind.ACCEPTED}
    wait_for(lambda: (job.job, "finish") in [(run, act.action) for run, act in site.actions], 5)
    control = lab.control()
    parts = control.call("GET", "/v1/jobs/first/parts", None, PartList)
    assert parts.finished
    assert [part.number for part in parts.parts] == list(range(1, len(units) + 1))
    report = control.call("GET", "/v1/jobs/first/report", None, Report)
    assert report.verified == len(units)
    assert report.max_residual is not None
    assert report.volunteers[0].exposure == {"x0": 1.0, "x1": 1.0}
    result = control.call("GET", "/v1/jobs/first/result", None, ResultInfo)
    assert Path(result.path) == data / "c.npy"
    assert Path(result.proof).read_text() == result.nonce
    raw = bytearray(result.bytes)
    assert control.read_into("/v1/jobs/first/result/data", memoryview(raw)) == len(raw)
    assert bytes(raw) == numpy.load(data / "c.npy").tobytes()


def site_units(lab: LabProcess, job: str) -> list[str]:
    return lab.wait_units(job, lab.job(job).progress.units)
