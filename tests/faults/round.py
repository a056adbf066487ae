"""One round: a product is computed while processes are killed and started again."""

import random
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.network import Network

VICTIMS = ("web", "database", "waiting", "scheduler", "lab", "volunteer-1", "volunteer-2")
KILLS = (1, 2, 3)
ROWS, INNER, COLUMNS = 1400, 1300, 1500
UNIT_MEMORY = 6 * 2**20
"""So small that the product becomes dozens of units and a kill hits work in flight."""
JOB_SECONDS = 120.0


@dataclass(frozen=True)
class Kill:
    """At `after` seconds from the submission `victim` dies; it is back `pause` seconds later."""

    after: float
    victim: str
    pause: float
    whole: bool


def plan_kills(seed: int) -> list[Kill]:
    """What happens in the round with this seed."""
    chance = random.Random(seed)
    return sorted(
        (
            Kill(
                after=chance.uniform(0.0, 2.5),
                victim=chance.choice(VICTIMS),
                pause=chance.uniform(0.0, 1.0),
                whole=chance.random() < 0.5,
            )
            for _ in range(chance.choice(KILLS))
        ),
        key=lambda kill: kill.after,
    )


def play(network: Network, seed: int) -> str:
    """Run one round; the sentence says what was done. AssertionError where a promise is broken."""
    a, b = _write_inputs(network.places.data, seed)
    kills = plan_kills(seed)
    lab = network.connect()
    product = lab.open(f"A-{seed}.npy") @ lab.open(f"B-{seed}.npy")
    job = product.submit(name=f"round-{seed}", out=f"C-{seed}.npy", memory=UNIT_MEMORY)
    _carry_out(network, kills)
    result = _result(network, job.id)
    _assert_right(a, b, result)
    _assert_nothing_twice(network.places.lab, f"round-{seed}")
    network.check()
    deaths = ", ".join(f"{kill.victim} at {kill.after:.2f} s" for kill in kills)
    return f"round {seed}: killed {deaths}; the product is right"


def _write_inputs(folder: Path, seed: int) -> tuple[Any, Any]:
    numbers = np.random.default_rng(seed)
    a = numbers.standard_normal((ROWS, INNER), np.float32)
    b = numbers.standard_normal((INNER, COLUMNS), np.float32)
    np.save(folder / f"A-{seed}.npy", a)
    np.save(folder / f"B-{seed}.npy", b)
    return a, b


def _carry_out(network: Network, kills: list[Kill]) -> None:
    started = time.monotonic()
    for kill in kills:
        time.sleep(max(0.0, kill.after - (time.monotonic() - started)))
        network.kill(kill.victim, whole=kill.whole)
        time.sleep(kill.pause)
        network.restart(kill.victim, ready=kill.victim != "web")
    for victim in {kill.victim for kill in kills}:
        network.processes[victim].wait_ready()


def _result(network: Network, job: str) -> Any:
    """The result by id, from a connection of its own; the lab node may have been away."""
    return network.connect().job(job).result(timeout=JOB_SECONDS)


def _assert_right(a: Any, b: Any, result: Any) -> None:
    exact = a.astype(np.float64) @ b.astype(np.float64)
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    deviation = np.abs(np.asarray(result) - exact) / scale
    # An honest sum of K products deviates by about sqrt(K) u |A||B| at most; 4 times that is far
    # below any wrong tile.
    assert deviation.max() <= 4 * np.sqrt(INNER) * 2.0**-24, f"deviates by {deviation.max():.3g}"


def _assert_nothing_twice(lab: Path, name: str) -> None:
    """No unit was verified twice, and none was uploaded again after it had been verified."""
    with sqlite3.connect(f"file:{lab / 'lab.sqlite3'}?mode=ro", uri=True) as database:
        units = database.execute(
            "SELECT unit, state, verified_at FROM units JOIN runs USING (run) WHERE name = ?",
            (name,),
        ).fetchall()
        leases = database.execute(
            "SELECT unit, state, digest, seen_at FROM leases JOIN runs USING (run)"
            " WHERE name = ? AND digest IS NOT NULL",
            (name,),
        ).fetchall()
    assert units
    assert all(state == "verified" for _, state, _ in units)
    verified = {unit: at for unit, _, at in units}
    accepted = [unit for unit, state, _, _ in leases if state == "accepted"]
    assert sorted(accepted) == sorted(verified), "each unit is accepted exactly once"
