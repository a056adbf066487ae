"""One round: a product is computed while processes are killed and started again."""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from tests.faults.computations import LabRecords, again, computations
from tests.network import Network

VICTIMS = ("web", "database", "waiting", "scheduler", "lab", "volunteer-1", "volunteer-2")
KILLS = (1, 2, 3)
ROWS, INNER, COLUMNS = 1400, 1300, 1500
UNIT_MEMORY = 3 * 2**19
"""So small that the product becomes 49 units: a job of three seconds with two slow volunteers."""
LAST_KILL = 0.75
"""The share of the units that are verified at the latest kill; its successors are in work then."""
JITTER_S = 0.15
"""More than a unit takes, so that a kill meets any moment of one."""
ATTEMPTS = 3
JOB_SECONDS = 120.0
BEAT_SECONDS = 20.0
"""The scheduler gives a sign of life every five seconds."""


class Missed(Exception):
    """The job was done before a kill: the round says nothing."""


@dataclass(frozen=True)
class Kill:
    """Once a `share` of the units is verified, and `delay` s later, `victim` dies; it is back
    `pause` s after that. `whole`: with its children."""

    share: float
    delay: float
    victim: str
    pause: float
    whole: bool


def plan_kills(seed: int) -> list[Kill]:
    """What happens in the round with this seed."""
    chance = random.Random(seed)
    return sorted(
        (
            Kill(
                share=chance.uniform(0.0, LAST_KILL),
                delay=chance.uniform(0.0, JITTER_S),
                victim=chance.choice(VICTIMS),
                pause=chance.uniform(0.0, 1.0),
                whole=chance.random() < 0.5,
            )
            for _ in range(chance.choice(KILLS))
        ),
        key=lambda kill: kill.share,
    )


def play(network: Network, seed: int) -> str:
    """Run one round; the sentence says what was done. AssertionError where a promise is broken.

    Where a kill came too late it is played anew; `Missed` when that happens again and again.
    """
    for attempt in range(ATTEMPTS):
        try:
            return _play(network, seed, f"round-{seed}-{attempt}")
        except Missed:
            continue
    raise Missed(f"in {ATTEMPTS} attempts the kills of seed {seed} came after the end")


def _play(network: Network, seed: int, name: str) -> str:
    kills = plan_kills(seed)
    a, b = _write_inputs(network.places.data, name, seed)
    lab = network.connect()
    product = lab.open(f"A-{name}.npy") @ lab.open(f"B-{name}.npy")
    began = time.monotonic()
    job = product.submit(name=name, out=f"C-{name}.npy", memory=UNIT_MEMORY)
    records = LabRecords(network.places.lab, name)
    hits = [_carry_out(network, records, kill) for kill in kills]
    for victim in {kill.victim for kill in kills}:
        network.processes[victim].wait_ready()
    # By id, from a connection of its own: the lab node may have been away.
    result = network.connect().job(job.id).result(timeout=JOB_SECONDS)
    seconds = time.monotonic() - began
    _assert_right(a, b, result)
    _assert_nothing_twice(network, records)
    if {"database", "scheduler"} & {kill.victim for kill in kills}:
        _assert_scheduler_leads(network)
    network.check()
    if not all(hits):
        raise Missed(name)
    deaths = ", ".join(f"{kill.victim} at {100 * kill.share:.0f} %" for kill in kills)
    return f"round {seed}: killed {deaths}; the product is right after {seconds:.1f} s"


def _write_inputs(folder: Path, name: str, seed: int) -> tuple[Any, Any]:
    numbers = np.random.default_rng(seed)
    a = numbers.standard_normal((ROWS, INNER), np.float32)
    b = numbers.standard_normal((INNER, COLUMNS), np.float32)
    np.save(folder / f"A-{name}.npy", a)
    np.save(folder / f"B-{name}.npy", b)
    return a, b


def _carry_out(network: Network, records: LabRecords, kill: Kill) -> bool:
    """Kill when it is time and start again; whether the job was still running."""
    deadline = time.monotonic() + JOB_SECONDS
    while not _is_due(records, kill):
        assert time.monotonic() < deadline, f"the job stands still\n{network.last_words()}"
        time.sleep(0.01)
    time.sleep(kill.delay)
    network.kill(kill.victim, whole=kill.whole)
    hit = not records.finished()
    time.sleep(kill.pause)
    network.restart(kill.victim, ready=kill.victim != "web")
    return hit


def _is_due(records: LabRecords, kill: Kill) -> bool:
    verified, units = records.counts()
    return verified >= kill.share * units


def _assert_scheduler_leads(network: Network) -> None:
    """Leases would never expire if the scheduler stayed away."""
    with psycopg.connect(network.site.database_url, autocommit=True) as database:
        since = database.execute("SELECT now()").fetchone()
        deadline = time.monotonic() + BEAT_SECONDS
        while not database.execute(
            "SELECT 1 FROM workunits_heartbeat WHERE beat > %s", since
        ).fetchone():
            assert time.monotonic() < deadline, network.processes["scheduler"].last_words()
            time.sleep(0.1)


def _assert_right(a: Any, b: Any, result: Any) -> None:
    exact = a.astype(np.float64) @ b.astype(np.float64)
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    deviation = np.abs(np.asarray(result) - exact) / scale
    # An honest sum of K products deviates by about sqrt(K) u |A||B| at most; 4 times that is far
    # below any wrong tile.
    assert deviation.max() <= 4 * np.sqrt(INNER) * 2.0**-24, f"deviates by {deviation.max():.3g}"


def _assert_nothing_twice(network: Network, records: LabRecords) -> None:
    """Each unit was accepted once, and nobody began to compute it after that."""
    verified = {unit: at for unit, at in records.verified().items() if at is not None}
    assert len(verified) == records.counts()[1] > 0, "every unit is verified"
    accepted = [unit for unit, state in records.results() if state == "accepted"]
    assert sorted(accepted) == sorted(verified), "each unit is accepted exactly once"
    began = computations(network)
    assert set(verified) <= {each.unit for each in began}, "what was verified was computed here"
    assert not again(began, verified), "a verified unit was computed again"
