"""One honest machine: reads operands, writes products. Started by `machines.run`.

Its arguments: folder, name of the machine, summation, flush library or `-`, names of cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.verification import sums


def main(arguments: list[str]) -> int:
    folder, name, summation, library, *cases = arguments
    out = Path(folder) / name
    out.mkdir()
    if library != "-":
        sums.flush_to_zero(Path(library))
    for case in cases:
        a, b = (np.load(Path(folder) / f"{case}.{operand}.npy") for operand in "ab")
        cuts = json.loads((Path(folder) / f"{case}.cuts").read_text())
        with np.errstate(all="ignore"):
            np.save(out / f"{case}.npy", sums.SUMS[summation](a, b, cuts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
