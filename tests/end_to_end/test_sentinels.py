"""What must not leave the lab does not: planted names and numbers are looked for everywhere."""

import importlib.util
import subprocess
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from gpugoblin_site.embedded_postgres.binaries import INSTALLATION, PACKAGE
from tests.network import Network
from tests.network.recorder import Recorder

pytestmark = pytest.mark.network

ROOT_NAME = "sentinel-root-quince"
JOB_NAME = "sentinel-job-walnut"
FILE_NAMES = ("sentinel-file-heron.npy", "sentinel-file-otter.npy", "sentinel-out-lynx.npy")
NAMES = (ROOT_NAME, JOB_NAME, *FILE_NAMES)
RUN_BYTES = 24
"""A run of so many bytes of an array cannot be anywhere by chance."""
SITE_PROCESSES = ("database", "web", "waiting", "scheduler")


def dump(network: Network) -> bytes:
    """The whole database as SQL."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).parent / INSTALLATION / "bin" / "pg_dump"
    command = [str(program), "--inserts", network.site.database_url]
    return subprocess.run(command, capture_output=True, check=True).stdout


def metrics(network: Network) -> bytes:
    with urllib.request.urlopen(f"{network.places.site_url}/metrics", timeout=10) as reply:
        return bytes(reply.read())


def logs(network: Network) -> bytes:
    return b"".join(network.processes[name].log.read_bytes() for name in SITE_PROCESSES)


def runs_of(path: Path) -> list[bytes]:
    """Runs of bytes from the start, the middle and the end of an array's numbers."""
    content = np.load(path).tobytes()
    starts = (0, len(content) // 2, len(content) - RUN_BYTES)
    return [content[start : start + RUN_BYTES] for start in starts]


def assert_absent(sentinels: list[bytes], place: str, content: bytes) -> None:
    for sentinel in sentinels:
        for form in (sentinel, sentinel.hex().encode(), sentinel.hex().upper().encode()):
            assert form not in content, f"{sentinel!r} is in {place}"


def test_names_and_numbers_stay_in_the_lab(tmp_path: Path) -> None:
    network = Network(volunteers=1)
    folder = tmp_path / "files"
    folder.mkdir()
    numbers = np.random.default_rng(8)
    for name in FILE_NAMES[:2]:
        np.save(folder / name, numbers.standard_normal((900, 900), np.float32))
    with Recorder(network.places.ports.lab_data) as to_volunteers:
        endpoint = f"http://127.0.0.1:{to_volunteers.port}"
        network.lab_arguments = ("--root", f"{ROOT_NAME}={folder}", "--endpoint", endpoint)
        with network:
            lab = network.connect()
            a, b, out = (f"{ROOT_NAME}/{name}" for name in FILE_NAMES)
            job = (lab.open(a) @ lab.open(b)).submit(name=JOB_NAME, out=out)
            job.result(timeout=60)
            places = {
                "the database": dump(network),
                "the logs": logs(network),
                "the metrics": metrics(network),
            }
        traffic = bytes(to_volunteers.bytes)
    names = [name.encode() for name in NAMES]
    panels = runs_of(folder / FILE_NAMES[0])[:1]
    assert any(run in traffic for run in panels), "the recorder saw what travelled"
    assert_absent(names, "the traffic to volunteers", traffic)
    arrays = [run for name in FILE_NAMES for run in runs_of(folder / name)]
    for place, content in places.items():
        assert len(content) > 100
        assert_absent([*names, *arrays], place, content)
