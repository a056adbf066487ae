"""What must not leave the lab does not: planted names and numbers are looked for everywhere."""

import base64
import contextlib
import importlib.util
import subprocess
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpugoblin
from gpugoblin.errors import GoblinError
from gpugoblin_site.embedded_postgres.binaries import INSTALLATION, PACKAGE
from tests.network import Network
from tests.network.recorder import Recorder

pytestmark = pytest.mark.network

ROOT_NAME = "sentinel-root-quince"
JOB_NAME = "sentinel-job-walnut"
FILE_NAMES = ("sentinel-file-heron.npy", "sentinel-file-otter.npy", "sentinel-out-lynx.npy")
BROKEN_JOB, BROKEN_FILE = "sentinel-job-broken-fig", "sentinel-file-broken-ibis.npy"
NAMES = (ROOT_NAME, JOB_NAME, BROKEN_JOB, BROKEN_FILE, *FILE_NAMES)
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


def forms_of(sentinel: bytes) -> list[bytes]:
    """As it is, in hexadecimal, and in base64 whatever stands before and after it."""
    encoded = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + sentinel)
        # The first letters and the last hang on their neighbours too.
        encoded.append(text[-(-8 * before // 6) : (8 * (before + len(sentinel))) // 6])
    safe = [form.translate(bytes.maketrans(b"+/", b"-_")) for form in encoded]
    return [sentinel, sentinel.hex().encode(), sentinel.hex().upper().encode(), *encoded, *safe]


def assert_absent(sentinels: list[bytes], place: str, content: bytes) -> None:
    for sentinel in sentinels:
        for form in forms_of(sentinel):
            assert form not in content, f"{sentinel!r} is in {place}"


def test_a_sentinel_is_found_in_every_form() -> None:
    for before in (b"", b"a", b"ab", b"abc"):
        around = before + ROOT_NAME.encode() + b"xyz"
        for content in (
            around,
            around.hex().encode(),
            base64.b64encode(around),
            base64.urlsafe_b64encode(around),
        ):
            with pytest.raises(AssertionError):
                assert_absent([ROOT_NAME.encode()], "it", content)


def break_a_job(lab: gpugoblin.Lab, folder: Path) -> str:
    """A job whose file is cut short: what the researcher is told of it."""
    broken = lab.open(f"{ROOT_NAME}/{BROKEN_FILE}")
    content = (folder / BROKEN_FILE).read_bytes()
    (folder / BROKEN_FILE).write_bytes(content[:-80])
    try:
        job = (broken @ broken).submit(name=BROKEN_JOB)
    except GoblinError as error:
        return error.detail
    until = time.monotonic() + 20
    while BROKEN_FILE not in job.why() and time.monotonic() < until:
        time.sleep(0.05)
    # The site is told of the pause as well.
    time.sleep(1)
    return job.why()


def test_names_and_numbers_stay_in_the_lab(tmp_path: Path) -> None:
    network = Network(volunteers=1)
    folder = tmp_path / "files"
    folder.mkdir()
    numbers = np.random.default_rng(8)
    for name in (*FILE_NAMES[:2], BROKEN_FILE):
        np.save(folder / name, numbers.standard_normal((900, 900), np.float32))
    with contextlib.ExitStack() as stack:
        to_volunteers = stack.enter_context(Recorder(network.places.ports.lab_data))
        to_site = stack.enter_context(Recorder(network.places.ports.web))
        network.places = replace(network.places, door=to_site.port)
        endpoint = f"http://127.0.0.1:{to_volunteers.port}"
        network.lab_arguments = ("--root", f"{ROOT_NAME}={folder}", "--endpoint", endpoint)
        with network:
            lab = network.connect()
            a, b, out = (f"{ROOT_NAME}/{name}" for name in FILE_NAMES)
            job = (lab.open(a) @ lab.open(b)).submit(name=JOB_NAME, out=out)
            job.result(timeout=60)
            assert BROKEN_FILE in break_a_job(lab, folder)
            places = {
                "the database": dump(network),
                "the logs": logs(network),
                "the metrics": metrics(network),
            }
        traffic = bytes(to_volunteers.bytes)
        places["the traffic to the site"] = bytes(to_site.bytes)
    names = [name.encode() for name in NAMES]
    panels = runs_of(folder / FILE_NAMES[0])[:1]
    assert any(run in traffic for run in panels), "the recorder saw what travelled"
    assert_absent(names, "the traffic to volunteers", traffic)
    assert b"/api/v1/exchange" in places["the traffic to the site"]
    assert b"/api/v1/lab/verdicts" in places["the traffic to the site"]
    arrays = [run for name in FILE_NAMES for run in runs_of(folder / name)]
    for place, content in places.items():
        assert len(content) > 100
        assert_absent([*names, *arrays], place, content)
