"""Runs every case and writes the table; fails where one that runs is wrong, or fewer run."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from tests.conformance.cases import all_cases, outcome, table

TABLE = Path(__file__).with_name("onnx_cases.md")
LEAST = 1000


def main() -> int:
    warnings.simplefilter("ignore")
    found = []
    for number, case in enumerate(all_cases()):
        found.append(outcome(case))
        if number % 200 == 0:
            print(f"{number} of {len(all_cases())}", file=sys.stderr)
    wrong = [each for each in found if each.wrong]
    for each in wrong:
        print(f"{each.name}: {each.wrong}")
    ran = sum(not each.reason for each in found)
    print(f"{ran} cases run, {len(wrong)} wrong, {len(found) - ran} not run")
    if not wrong:
        TABLE.write_text(table(found))
    return 1 if wrong or ran < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
