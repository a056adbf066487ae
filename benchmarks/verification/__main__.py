"""`python -m benchmarks.verification [--quick] [cost | honest | detection ...]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks import report
from benchmarks.verification import cost, detection, honest

_PARTS = {"cost": cost.measure, "honest": honest.measure, "detection": detection.measure}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verification")
    parser.add_argument("--quick", action="store_true", help="a minute's worth less of everything")
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], help="all, when none is named")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    for name in options.parts or _PARTS:
        _PARTS[name](options.quick)
        report.progress(f"{name} done after {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
