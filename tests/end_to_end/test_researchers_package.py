"""The researcher's package against real processes: what its own tests do with a double."""

import asyncio
import concurrent.futures
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import gpugoblin
from gpugoblin import errors
from tests.network import Network

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def lab(network: Network) -> gpugoblin.Lab:
    chance = np.random.default_rng(3)
    for name in ("left", "right"):
        np.save(network.places.data / f"{name}.npy", chance.standard_normal((640, 640), np.float32))
    return network.connect()


def numbers(network: Network, name: str) -> np.ndarray:
    return np.load(network.places.data / f"{name}.npy")


def near(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and np.allclose(found, expected, atol=1e-2)


def test_files_to_a_file(network: Network, lab: gpugoblin.Lab) -> None:
    product = lab.open("left.npy") @ lab.open("right.npy")
    assert product.explain().possible
    job = product.submit("files", out="product.npy")
    parts = list(job.parts())
    result = job.result(timeout=60)
    expected = numbers(network, "left") @ numbers(network, "right")
    assert isinstance(result, np.memmap)
    assert near(result, expected)
    assert near(np.load(network.places.data / "product.npy"), expected)
    covered = np.zeros(result.shape, int)
    for part in parts:
        covered[part.slice] += 1
    assert np.all(covered == 1)
    assert job.report().facts.verified == len(parts)
    with pytest.raises(errors.OutputExists):
        (lab.open("right.npy") @ lab.open("left.npy")).submit(out="product.npy")


@pytest.mark.parametrize(
    ("left", "right"),
    [((300,), (300, 40)), ((40, 300), (300,)), ((300,), (300,)), ((40, 0), (0, 30)),
     ((0, 30), (30, 4)), ((40, 1), (1, 30))],
)  # fmt: skip
def test_vectors_and_empty_axes(
    lab: gpugoblin.Lab, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    chance = np.random.default_rng(4)
    a, b = chance.standard_normal(left), chance.standard_normal(right)
    job = (lab.array(a) @ b).submit()
    found = job.result(timeout=60)
    assert found.shape == (a @ b).shape
    assert np.allclose(found, a @ b)
    for part in job.parts():
        assert np.asarray(found[part.slice]).size > 0


def test_an_array_above_the_inline_size_goes_in_pieces(lab: gpugoblin.Lab) -> None:
    a = np.ones((4100, 4200), np.float32)
    assert a.nbytes > 64 << 20
    x = np.arange(4200, dtype=np.float32) / 4200
    assert np.allclose((lab.array(a) @ x).compute(), a @ x)


def test_row_21_memory_of_client_and_lab_node_stays_near_the_input(network: Network) -> None:
    """An array of 336 MiB: the client holds it once, the lab node never."""
    code = (
        "import pathlib, re, sys, numpy, gpugoblin\n"
        "a = numpy.ones((84, 1 << 20), numpy.float32)\n"
        "a[:, ::4096] = 2\n"
        "gpugoblin.connect(sys.argv[1]).array(a)\n"
        # Not ru_maxrss: that one begins with the memory of the process that forked.
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(a.nbytes, int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) * 1024)\n"
    )
    lab_node = psutil.Process(network.processes["lab"].pid)
    peaks = [lab_node.memory_info().rss]
    with subprocess.Popen(
        [sys.executable, "-c", code, str(network.places.lab)], stdout=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            peaks.append(lab_node.memory_info().rss)
            time.sleep(0.02)
        assert process.stdout is not None
        size, peak = map(int, process.stdout.read().split())
    assert process.returncode == 0
    assert peak < size + 300e6
    assert max(peaks) < peaks[0] + 300e6


def test_row_08_another_process_reopens_a_job(network: Network, lab: gpugoblin.Lab) -> None:
    job = (lab.open("left.npy") @ lab.open("left.npy")).submit("reopened")
    job.result(timeout=60)
    code = (
        "import pickle, sys, gpugoblin\n"
        "job = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "print(job.state, job.name, float(job.result(timeout=30)[0, 0]))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(job).hex()],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout.split()  # fmt: skip
    assert shown[:2] == ["done", "reopened"]
    square = numbers(network, "left") @ numbers(network, "left")
    assert float(shown[2]) == pytest.approx(float(square[0, 0]), abs=1e-2)
    assert "reopened" in repr(lab.jobs())


def test_a_machine_without_the_file_system_downloads(
    network: Network, lab: gpugoblin.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpugoblin.result.is_shared", lambda _info: False)
    job = (lab.open("right.npy") @ lab.open("right.npy")).submit("far")
    expected = numbers(network, "right") @ numbers(network, "right")
    assert near(job.result(timeout=60), expected)
    assert near(job.result(to=tmp_path / "far.npy"), expected)
    assert near(np.load(tmp_path / "far.npy"), expected)


def test_futures_and_awaiting(network: Network, lab: gpugoblin.Lab) -> None:
    left, right = lab.open("left.npy"), lab.open("right.npy")
    jobs = [(left @ right).submit("future"), (right @ left).submit("awaited")]
    found = concurrent.futures.as_completed([job.future() for job in jobs], timeout=60)
    assert len([future.result() for future in found]) == 2
    expected = numbers(network, "right") @ numbers(network, "left")

    async def awaited() -> np.ndarray:
        return await jobs[1]

    assert near(asyncio.run(awaited()), expected)


def test_row_17_a_cancelled_job_says_who_and_why(network: Network, lab: gpugoblin.Lab) -> None:
    job = (lab.open("left.npy") @ lab.open("right.npy")).submit("stopped", fresh=True, out="s.npy")
    assert job.cancel()
    with pytest.raises(errors.JobCancelled, match="researcher"):
        job.result(timeout=60)
    assert not (network.places.data / "s.npy").exists()
    assert "researcher" in job.why()


def test_row_03_a_wait_outlives_a_killed_lab_node(network: Network, lab: gpugoblin.Lab) -> None:
    chance = np.random.default_rng(5)
    a, b = (chance.standard_normal((2000, 2000), np.float32) for _ in range(2))
    job = (lab.array(a) @ lab.array(b)).submit("outlived")
    future = job.future()
    network.kill("lab")
    assert "Last known" in job.why()
    network.restart("lab")
    assert near(future.result(timeout=60), a @ b)
    assert job.report().facts.verified == job.report().facts.units


def test_row_25_what_is_impossible_is_explained_and_refused_alike(lab: gpugoblin.Lab) -> None:
    product = lab.open("left.npy") @ lab.open("right.npy")
    explanation = product.explain(memory=1000)
    assert not explanation.possible
    with pytest.raises(errors.MemoryTooSmall) as caught:
        product.submit(memory=1000)
    assert caught.value.detail == explanation.problem


def test_the_program_speaks_with_the_lab_node(network: Network, lab: gpugoblin.Lab) -> None:
    assert lab.info().network.devices == 2
    program = [sys.executable, "-m", "gpugoblin"]
    where = ["--lab", str(network.places.lab)]
    for command in (["jobs"], ["doctor"]):
        shown = subprocess.run(
            [*program, *command, *where, "--json"], capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stdout + shown.stderr
