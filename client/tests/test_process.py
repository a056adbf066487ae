"""The program as a process: how it ends, what it leaves, what it does when it is cut down."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import psutil

from client.tests.running import Client, until
from client.tests.servers import Handler, Lab, Site
from goblin_client.__main__ import main
from goblin_client.control import Command, ask
from goblin_client.directory import StateDirectory
from goblin_client.store import Store
from goblin_wire.exchange import Settled

BIG: dict[str, int] = {"m": 900, "k": 900, "n": 900, "slices": 400, "pairs": 1}
"""A unit of few bytes that takes several seconds."""


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def stalling(lab: Lab) -> None:
    """Let the lab serve manifests and graphs, but no inputs."""
    graphs = {unit.message.graph for unit in lab.units.values()}

    def hook(_handler: Handler, path: str) -> bool:
        if "/blobs/" in path and path.rsplit("/", 1)[1] not in graphs:
            time.sleep(30)
        return False

    lab.hook = hook


def test_sigterm_hands_the_leases_back_and_ends_in_time(
    site: Site, lab: Lab, run: Callable[..., Client]
) -> None:
    site.offer(lab, lab.product(seed=1), lab.product(seed=2))
    stalling(lab)
    client = run()
    computing = client.computing()
    until(lambda: any("/blobs/" in each for each in lab.requests))
    began = time.monotonic()
    assert client.stop() == 0
    assert time.monotonic() - began < 5
    returned = [each.code for exchange in site.exchanges for each in exchange.returned]
    assert returned == ["shutting_down", "shutting_down"]
    assert not site.open
    assert gone(computing)


def test_row_43_no_orphan_after_kill_9_of_the_supervisor(
    site: Site, lab: Lab, run: Callable[..., Client]
) -> None:
    site.offer(lab, lab.product(**BIG))
    client = run()
    computing = client.computing()
    until(lambda: computing.cpu_times().user > 0.05)
    client.process.kill()
    client.process.wait()
    until(lambda: gone(computing), 3)


def test_leases_go_on_after_kill_9(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    units = [lab.product(seed=1), lab.product(seed=2)]
    site.offer(lab, *units)
    stalling(lab)
    first = run()
    until(lambda: any("/blobs/" in each for each in lab.requests))
    first.process.kill()
    first.process.wait()
    lab.hook = None
    leases = set(site.open)
    run()
    until(lambda: len(site.reported) == 2)
    assert set(site.reported) == leases
    assert len({each.host for each in site.exchanges}) == 1


def test_a_result_outlives_the_process_until_it_is_settled(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.settling = False
    site.offer(lab, lab.product())
    first = run()
    until(lambda: site.reported)
    (lease,) = site.reported
    assert first.stop() == 0
    site.reported.clear()
    assert list(state.results.iterdir())
    site.settling = True
    site.settled[lease] = Settled(
        lease=lease, verdict="rejected", code="wrong_numbers", reason="Row 3 is wrong."
    )
    second = run()
    until(lambda: site.reported)
    until(lambda: not list(state.results.iterdir()))
    shown = status(state)
    assert shown["running"] is True
    assert [(each["lease"], each["reason"]) for each in shown["refusals"]] == [
        (lease, "Row 3 is wrong.")
    ]
    assert second.stop() == 0
    assert "Row 3 is wrong." in text_status(state)


def test_a_crashed_compute_process_is_started_again_then_the_lease_goes_back(
    site: Site, lab: Lab, run: Callable[..., Client]
) -> None:
    site.offer(lab, lab.product(**BIG))
    client = run()
    for _ in range(2):
        computing = client.computing()
        until(lambda process=computing: process.cpu_times().user > 1.5, 30)
        computing.kill()
        until(lambda process=computing: gone(process))
        until(
            lambda process=computing: (
                psutil.Process(client.process.pid).children() not in ([], [process])
            )
        )
    until(lambda: [each for exchange in site.exchanges for each in exchange.returned])
    (returned,) = [each for exchange in site.exchanges for each in exchange.returned]
    assert returned.code == "memory"
    assert "killed" in returned.detail


def test_row_21_a_copied_directory_works_on_as_another_host(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.offer(lab, lab.product(seed=1))
    first = run()
    until(lambda: len(site.reported) == 1)
    first.stop()
    copy = StateDirectory(state.path.parent / "copy")
    shutil.copytree(state.path, copy.path)
    site.offer(lab, lab.product(seed=2), lab.product(seed=3))
    second = run()
    until(lambda: len(site.reported) == 3)
    site.offer(lab, lab.product(seed=4))
    third = Client(copy)
    try:
        until(lambda: len(site.reported) == 4 and len(site.hosts) == 2)
    finally:
        third.end()
    assert second.process.poll() is None


def test_only_one_run_per_state_directory(
    site: Site, run: Callable[..., Client], state: StateDirectory
) -> None:
    first = run()
    until(state.socket.exists)
    second = Client(state)
    assert second.process.wait(10) == 1
    assert b"Another goblin-client runs" in second.log.read_bytes()
    assert first.process.poll() is None


def test_pause_stops_the_arithmetic_and_survives_a_restart(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.offer(lab, lab.product(**BIG))
    first = run()
    computing = first.computing()
    until(lambda: computing.cpu_times().user > 1.2, 30)
    assert main(["pause", "--for", "1h", "--state", str(state.path)]) == 0
    until(lambda: [each for exchange in site.exchanges for each in exchange.returned])
    until(lambda: status(state)["devices"][0]["ready"])
    (computing,) = psutil.Process(first.process.pid).children()
    before = computing.cpu_times().user
    time.sleep(0.5)
    assert computing.cpu_times().user - before < 0.1
    first.stop()
    run()
    until(lambda: status(state)["running"])
    shown = status(state)
    assert shown["paused"] is True
    assert 3500 < shown["paused_until"] - time.time() <= 3600
    site.offer(lab, lab.product(seed=9))
    assert main(["resume", "--state", str(state.path)]) == 0
    until(lambda: site.reported)


def test_times_beyond_all_bounds_end_no_client(
    site: Site, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.poll_after_ms = 2**53 - 1
    client = run()
    until(lambda: site.exchanges)
    ask(state.socket, Command(name="pause", until=1e300))
    time.sleep(0.3)
    assert ask(state.socket, Command(name="resume"))["running"] is True
    assert client.stop() == 0


def test_leave_hands_back_signs_out_and_removes_the_state(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.offer(lab, lab.product(seed=1))
    stalling(lab)
    client = run()
    until(lambda: any("/blobs/" in each for each in lab.requests))
    assert main(["leave", "--state", str(state.path)]) == 0
    assert client.process.wait(5) == 0
    assert "POST /api/v1/sign-out" in site.requests
    assert not site.open
    assert not state.path.exists()


def test_files_are_closed_to_others(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.settling = False
    site.offer(lab, lab.product())
    run()
    until(lambda: site.reported)
    for path in [state.path, *state.path.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode & 0o077 == 0, path


def test_a_refused_token_ends_with_code_3(site: Site, state: StateDirectory) -> None:
    membership = state.membership()
    membership.token = membership.token[:-1] + "B"
    state.save(membership)
    client = Client(state)
    assert client.process.wait(10) == 3
    assert b"not known" in client.log.read_bytes()


def test_a_machine_that_was_removed_on_the_site_ends_and_leaves_nothing(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    site.settling = False
    site.offer(lab, lab.product())
    client = run()
    until(lambda: site.reported)
    assert kept(state)
    site.removed = True
    site.offer(lab, lab.product(seed=2))
    assert client.process.wait(10) == 3
    assert b"removed on the site; join again" in client.log.read_bytes()
    assert not state.path.exists()


def test_label_pause_and_goodbye_reach_the_site(
    site: Site, run: Callable[..., Client], state: StateDirectory
) -> None:
    membership = state.membership()
    membership.label = "căn bếp"
    state.save(membership)
    client = run()
    until(lambda: site.exchanges)
    assert main(["pause", "--for", "1h", "--state", str(state.path)]) == 0
    until(lambda: site.exchanges[-1].activity == "paused")
    assert 3500 < site.exchanges[-1].resumes_s <= 3600
    assert client.stop() == 0
    assert [each.label for each in site.exchanges][:2] == ["căn bếp", ""]
    assert site.exchanges[-1].activity == "stopping"


def test_ctrl_c_ends_with_130(site: Site, run: Callable[..., Client]) -> None:
    client = run()
    until(lambda: site.exchanges)
    client.process.send_signal(signal.SIGINT)
    assert client.process.wait(5) == 130


def test_row_31_kill_9_at_every_state_write(site: Site, lab: Lab, state: StateDirectory) -> None:
    site.poll_after_ms = 50
    for writes in range(1, 9):
        site.offer(lab, lab.product(seed=writes))
        assert crash_run(state, writes) == -signal.SIGKILL
    client = Client(state)
    try:
        until(lambda: len(site.reported) == 8 and not kept(state))
    finally:
        client.end()
    assert not site.open
    for lease in site.reported:
        expected = lab.leases[lease].expected
        assert numpy.allclose(lab.result(lease), expected, rtol=1e-3, atol=1e-3)


def crash_run(state: StateDirectory, writes: int) -> int:
    """Run a client that kills itself after so many writes."""
    script = Path(__file__).parent / "crashing.py"
    client = subprocess.Popen(
        [sys.executable, str(script), str(writes), str(state.path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return client.wait(20)
    finally:
        client.kill()


def kept(state: StateDirectory) -> int:
    store = Store(state.database)
    try:
        return len(store.results())
    finally:
        store.close()


def status(state: StateDirectory) -> dict:  # type: ignore[type-arg]
    """What `goblin-client status --json` prints."""
    return json.loads(_status(state, "--json"))


def text_status(state: StateDirectory) -> str:
    return _status(state)


def _status(state: StateDirectory, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "goblin_client", "status", "--state", str(state.path), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    ).stdout


def size_of(path: Path) -> int:
    """Bytes of a file that the client may just rename or remove."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def test_a_unit_larger_than_the_cache_streams_through_it(
    site: Site, lab: Lab, run: Callable[..., Client], state: StateDirectory
) -> None:
    unit = lab.product(300, 300, 300, slices=12, seed=3)
    blob = unit.message.inputs[0].bytes
    site.offer(lab, unit, lab.product(300, 300, 300, slices=12, seed=4))
    client = run("--cache", str(5 * blob))
    most = 0

    def is_done() -> bool:
        nonlocal most
        most = max(most, sum(map(size_of, (state.cache / lab.id).glob("*"))))
        return len(site.reported) == 2

    until(is_done)
    assert client.stop() == 0
    # The cap, the graphs, and what a unit and the next one need to begin.
    assert most <= (5 + 4 + 1) * blob
    for lease in site.reported:
        expected = lab.leases[lease].expected
        assert numpy.allclose(lab.result(lease), expected, atol=1e-2)
