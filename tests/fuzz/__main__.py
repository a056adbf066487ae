"""Fuzzes until time or examples are used up; `python -m tests.fuzz --help`.

A fault ends the run: its smallest example is written to `.fuzz/`, from where it goes into
`regressions.py`.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from hashlib import sha256
from pathlib import Path

from tests.fuzz.targets import TARGETS, Exploration

ROOT = Path(__file__).resolve().parents[2]
ROUND = 200
"""Examples of one target before it is the next one's turn."""


def main(arguments: list[str]) -> int:
    """1 where a fault was found."""
    given = _parser().parse_args(arguments)
    explorations = {name: Exploration(name) for name in given.targets or TARGETS}
    ends, rounds = time.monotonic() + given.seconds, 0
    while time.monotonic() < ends and rounds * ROUND * len(explorations) < given.examples:
        for name, exploration in explorations.items():
            if not _round(name, exploration, given.seed + rounds):
                return 1
        rounds += 1
    for name, exploration in explorations.items():
        print(f"{name}: {exploration.outcomes.total()} examples")
        for outcome, count in exploration.outcomes.most_common():
            print(f"  {count:7}  {outcome}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser


def _round(name: str, exploration: Exploration, seed: int) -> bool:
    try:
        exploration.run(ROUND, seed)
    except Exception:
        data, number = exploration.last
        folder = ROOT / ".fuzz"
        folder.mkdir(exist_ok=True)
        file = folder / f"{name}-{sha256(data).hexdigest()[:12]}-{number}.json"
        file.write_bytes(data)
        traceback.print_exc()
        print(f"{name}, --seed {seed}: a fault; its example is in {file.relative_to(ROOT)}")
        return False
    return True


if __name__ == "__main__":
    faulthandler.enable()
    sys.exit(main(sys.argv[1:]))
