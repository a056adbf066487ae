"""Products of integers through a lab node: bit for bit numpy's, and one wrong bit convicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from labnode_rig import LabProcess, SiteDouble, Volunteer, save, wait_for
from numpy.typing import NDArray

from goblin_wire.control import Report
from goblin_wire.states import JobState, VerdictKind
from opgraph.partition.figures import NetworkFigures
from opgraph.partition.product import plan_product


def numbers(rows: int, columns: int, dtype: str, seed: int) -> NDArray[Any]:
    """Anything that the type has, so that products wrap."""
    info = numpy.iinfo(dtype)
    generator = numpy.random.default_rng(seed)
    return generator.integers(info.min, info.max, (rows, columns), dtype, endpoint=True)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("int8", (90, 3000, 70)), ("uint64", (300, 40, 280)), ("int32", (1, 9, 1))]
)
def test_the_product_is_numpys(
    lab: LabProcess, data: Path, dtype: str, shape: tuple[int, int, int]
) -> None:
    m, k, n = shape
    a = save(data, "a.npy", numbers(m, k, dtype, 1))
    b = save(data, "b.npy", numbers(k, n, dtype, 2))
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    Volunteer(lab).work_all(job.job, job.progress.units)
    lab.wait_state(job.job, JobState.DONE)
    found = numpy.load(data / "c.npy")
    assert found.dtype == dtype
    numpy.testing.assert_array_equal(found, a @ b)


def high_bit(tile: NDArray[Any]) -> None:
    tile[7, 3] ^= numpy.int32(-(2**31))


def off_by_one(tile: NDArray[Any]) -> None:
    tile[7, 3] += 1


def zeros(tile: NDArray[Any]) -> None:
    tile[...] = 0


def test_whatever_is_wrong_is_rejected_with_the_entry(
    lab: LabProcess, site: SiteDouble, data: Path
) -> None:
    a = save(data, "a.npy", numbers(400, 300, "int32", 3))
    b = save(data, "b.npy", numbers(300, 400, "int32", 4))
    job = lab.multiply("a.npy", "b.npy", out="c.npy", memory=3 << 20)
    units = lab.wait_units(job.job, job.progress.units)
    spoils = [high_bit, off_by_one, zeros]
    for unit, spoil in zip(units, spoils, strict=False):
        Volunteer(lab, "cheat").work(unit, spoil)
    wait_for(lambda: len(site.judged(job.job)) == len(spoils), 10, lab.log)
    for verdict in site.judged(job.job):
        assert (verdict.verdict, verdict.code) == (VerdictKind.REJECTED, "wrong_entry")
        assert "integers are exact" in verdict.reason
    assert not numpy.load(data / "c.npy").any()
    for unit in units:
        Volunteer(lab).work(unit)
    lab.wait_state(job.job, JobState.DONE)
    numpy.testing.assert_array_equal(numpy.load(data / "c.npy"), a @ b)
    report = lab.control().call("GET", f"/v1/jobs/{job.job}/report", None, Report)
    assert [each.volunteer for each in report.refusals] == ["cheat"] * len(spoils)
    assert "2^-40" in report.blind_spot
    assert report.repaired_rows == 0


def test_units_say_which_catalogue_their_graph_needs(
    lab: LabProcess, site: SiteDouble, data: Path
) -> None:
    save(data, "a.npy", numbers(20, 30, "int16", 5))
    save(data, "b.npy", numbers(30, 20, "int16", 6))
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    (unit,) = lab.wait_units(job.job, 1)
    network = NetworkFigures(2, 1 << 30, 1e10, 1e7, 1e7)
    plan = plan_product(20, 30, 20, "int16", network)
    assert site.units[unit].catalogue == plan.graph(plan.tiles[0]).catalogue == 1
