"""Honest machines: every OpenBLAS kernel that this processor can run, and the less usual ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CORES = (
    "Prescott",
    "Nehalem",
    "Sandybridge",
    "Haswell",
    "Zen",
    "SkylakeX",
    "Cooperlake",
    "Sapphirerapids",
)
_LATE_FEATURES = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"


@dataclass(frozen=True)
class Machine:
    """How one honest machine computes."""

    name: str
    summation: str = "blas"
    core: str = ""
    threads: int = 1
    flush: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def machines(quick: bool) -> list[Machine]:
    """All of them, or a few."""
    cores = ("Prescott", "Haswell") if quick else CORES
    found = [
        Machine(f"{core.lower()}-{threads}", core=core, threads=threads)
        for core in cores
        for threads in ((1,) if quick else (1, 2))
    ]
    found += [
        Machine("sequential", "sequential"),
        Machine("flush-to-zero", flush=True),
        Machine("einsum", "einsum"),
    ]
    if quick:
        return found
    return [
        *found,
        Machine("sequential-flush-to-zero", "sequential", flush=True),
        Machine("einsum-avx2", "einsum", environment={"NPY_DISABLE_CPU_FEATURES": _LATE_FEATURES}),
        Machine(
            "einsum-sse",
            "einsum",
            environment={"NPY_DISABLE_CPU_FEATURES": f"{_LATE_FEATURES} AVX2 FMA3 AVX F16C"},
        ),
        Machine("row-by-row", "rows"),
        Machine("row-by-row-prescott", "rows", core="Prescott"),
    ]


def run(machine: Machine, folder: Path, names: Sequence[str], library: Path | None) -> str | None:
    """Compute all cases in a process of its own; products lie in `folder` / machine's name.

    Returns why it could not, or None."""
    if machine.flush and library is None:
        return "no C compiler here to switch flush-to-zero on"
    command = [sys.executable, "-m", "benchmarks.verification.worker", str(folder), machine.name]
    command += [machine.summation, str(library) if machine.flush else "-", *names]
    done = subprocess.run(command, env=_environment(machine), capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"


def _environment(machine: Machine) -> dict[str, str]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(machine.threads)}
    environment |= machine.environment
    if machine.core:
        environment["OPENBLAS_CORETYPE"] = machine.core
    return environment
