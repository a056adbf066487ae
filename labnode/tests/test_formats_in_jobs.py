"""Jobs over zarr, safetensors and raw numbers: right, watched, and nothing of their names told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import numpy
import pytest
import safetensors.numpy
import zarr
from labnode_rig import LabProcess, SiteDouble, Volunteer, normal, product

from goblin_wire.control import ArrayInfo, OpenArray
from goblin_wire.problems import BadMessage
from goblin_wire.states import JobState

ROWS, INNER, COLUMNS = 640, 500, 600
TENSOR = "sentinel.tensor.heron"


def opened(lab: LabProcess, path: str, **how: object) -> ArrayInfo:
    asked = OpenArray(path=f"{lab.prefix}/{path}", **how)  # type: ignore[arg-type]
    return lab.control().call("POST", "/v1/arrays", asked, ArrayInfo)


def write(data: Path) -> tuple[numpy.ndarray, numpy.ndarray]:
    a, b = normal(ROWS, INNER), normal(INNER, COLUMNS, seed=1)
    made = zarr.create_array(
        str(data / "sentinel-otter.zarr"), shape=a.shape, chunks=(100, 130), dtype=a.dtype,
        zarr_format=3,
    )  # fmt: skip
    made[...] = a
    safetensors.numpy.save_file({TENSOR: b, "other": b[:3]}, data / "m.safetensors")
    return a, b


def finish(lab: LabProcess, job: str, data: Path, want: numpy.ndarray) -> None:
    volunteer = Volunteer(lab)
    for unit in lab.wait_units(job, lab.job(job).progress.units):
        volunteer.work(unit)
    lab.wait_state(job, JobState.DONE)
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), want, rtol=1e-3, atol=1e-3)


def submit(lab: LabProcess, left: ArrayInfo, right: ArrayInfo) -> str:
    return lab.submit(product(left, right, out=f"{lab.prefix}/c.npy", memory=3 << 20)).job


def test_zarr_times_a_tensor_with_a_change_put_right(
    lab: LabProcess, site: SiteDouble, data: Path
) -> None:
    a, b = write(data)
    left = opened(lab, "sentinel-otter.zarr")
    right = opened(lab, "m.safetensors", tensor=TENSOR)
    assert (left.shape, right.dtype, right.bytes) == ([ROWS, INNER], "float32", b.nbytes)
    job = submit(lab, left, right)
    lab.wait_units(job, lab.job(job).progress.units)
    chunk = data / "sentinel-otter.zarr/c/2/1"
    shutil.copy(chunk, data / "saved")
    os.truncate(chunk, 50)
    info = lab.wait_state(job, JobState.PAUSED)
    assert info.code == "file_truncated"
    assert "sentinel-otter.zarr" in info.reason
    shutil.copy(data / "saved", chunk)
    lab.wait_state(job, JobState.RUNNING, JobState.WAITING)
    finish(lab, job, data, a @ b)
    told = msgspec.json.encode([site.jobs, site.units, [action for _, action in site.actions]])
    for name in (b"sentinel", b"zarr", b"safetensors"):
        assert name not in told
    unit = next(unit for unit, owner in site.unit_jobs.items() if owner == job)
    assert site.units[unit].catalogue == 1


def test_raw_numbers_in_both_orders(lab: LabProcess, data: Path) -> None:
    a = normal(ROWS, INNER)
    (data / "a.bin").write_bytes(b"skip" + a.astype(">f4").tobytes())
    left = opened(lab, "a.bin", shape=[ROWS, INNER], dtype=">f4", offset=4)
    # The same bytes by columns are the transpose.
    right = opened(lab, "a.bin", shape=[INNER, ROWS], dtype=">f4", order="F", offset=4)
    job = submit(lab, left, right)
    finish(lab, job, data, a @ a.T)


def test_the_names_of_tensors_are_told_to_who_asks(lab: LabProcess, data: Path) -> None:
    write(data)
    with pytest.raises(BadMessage, match=TENSOR):
        opened(lab, "m.safetensors")
