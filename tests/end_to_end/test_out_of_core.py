"""A product whose inputs are larger than the memory of every volunteer and of the researcher."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import open_memmap

from tests.network import Network

pytestmark = pytest.mark.network

MIB = 2**20
ROWS, INNER, COLUMNS = 1024, 48 * 1024, 1024
FILES = ("wide.npy", "tall.npy", "small.npy")
CLIENT_MEMORY = 64 * MIB
RESEARCHER_MEMORY = 160 * MIB
"""Resident memory of the whole interpreter; the inputs have 384 MiB."""

RESEARCHER = """
import pathlib, sys
import gpugoblin
lab = gpugoblin.connect(sys.argv[1])
job = (lab.open("wide.npy") @ lab.open("tall.npy")).submit(name="out-of-core", out="small.npy")
product = job.result(timeout=120)
status = pathlib.Path("/proc/self/status").read_text()
peak = next(row for row in status.splitlines() if row.startswith("VmHWM"))
print(product[0, 0], int(peak.split()[1]) * 1024)
"""


def write(path: Path, shape: tuple[int, int], seed: int) -> None:
    chance = np.random.default_rng(seed)
    array = open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    for row in range(0, shape[0], 256):
        array[row : row + 256] = chance.standard_normal(array[row : row + 256].shape, np.float32)


def test_inputs_exceed_all_memory_but_the_disk() -> None:
    arguments = ("--threads", "1", "--memory", str(CLIENT_MEMORY))
    with Network(volunteers=2, volunteer_arguments=arguments) as network:
        data = network.places.data
        write(data / FILES[0], (ROWS, INNER), 1)
        write(data / FILES[1], (INNER, COLUMNS), 2)
        ended = subprocess.run(
            [sys.executable, "-c", RESEARCHER, str(network.places.lab)],
            capture_output=True, text=True, timeout=150, env=network.places.environment(),
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        resident = int(ended.stdout.split()[-1])
        assert resident < RESEARCHER_MEMORY
        a, b, c = (
            np.load(data / f"{name}.npy", mmap_mode="r") for name in ("wide", "tall", "small")
        )
        rows = [0, 511, 1023]
        exact = a[rows].astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
        assert (np.abs(c[rows] - exact) / scale).max() <= 4 * np.sqrt(INNER) * 2.0**-24
