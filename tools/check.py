#!/usr/bin/env python3
"""What `make test` and `make lint` run: every step runs, and one failure fails the whole."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
LINT = {
    "ruff": [str(BIN / "ruff"), "check", "--output-format", "concise", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "--output-format", "concise", "."],
    "types": [str(BIN / "mypy")],
    "imports": [str(BIN / "lint-imports")],
    "openapi": [sys.executable, "tools/openapi.py", "--check"],
}
PYTEST = [sys.executable, "-m", "pytest", "-q"]
# Many tests wait for processes, so two at a time are faster even on one core. Each process has a
# database of its own, which is why there are never many.
PROCESSES = str(min(max(os.cpu_count() or 1, 2), 4))
# What measures time runs when nothing else does.
TESTS = {
    "tests": [*PYTEST, "-n", PROCESSES, "-m", "not alone", "--durations=25"],
    "timings": [*PYTEST, "-m", "alone"],
}


def run(name: str, command: list[str]) -> bool:
    """Run one step from the root of the checkout; True when it passed."""
    started = time.monotonic()
    print(f"--- {name}: {' '.join(Path(part).name for part in command)}", flush=True)
    passed = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    print(
        f"--- {name}: {'ok' if passed else 'FAILED'} in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return passed


def main(what: str) -> int:
    """Run the lint steps, and the tests after them unless `what` is `lint`."""
    steps = LINT if what == "lint" else LINT | TESTS
    failed = [name for name, command in steps.items() if not run(name, command)]
    print(f"failed: {', '.join(failed)}" if failed else "all steps passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "test"))
