"""Runs every part and prints one table; fails where anything is wrong.

`python -m tests.conformance [PART...]`
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from tests.conformance import onnx_part, operators_part, random_part, variants_part
from tests.conformance.array_api import part as array_api_part
from tests.conformance.report import Row, printed

PARTS: dict[str, Callable[[], Iterable[Row]]] = {
    "onnx": onnx_part.rows,
    "operators": operators_part.rows,
    "array-api": array_api_part.rows,
    "random": random_part.rows,
    "variants": variants_part.rows,
}


def main(*names: str) -> int:
    """Run these parts, or all; 2 where there is no such part."""
    if unknown := set(names) - set(PARTS):
        print(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        return 2
    rows = []
    for name in names or PARTS:
        for row in PARTS[name]():
            print(f"{row.part}, {row.what}: {row.ran} in {row.seconds:.0f} s", file=sys.stderr)
            rows.append(row)
    print(printed(rows))
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
