"""Honest machines: every OpenBLAS kernel that this processor can run, and the less usual ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__

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
        Machine("einsum-avx2", "einsum", environment=_without(_wide_features())),
        Machine("einsum-least", "einsum", environment=_without(list(__cpu_dispatch__))),
        Machine("row-by-row", "rows"),
        Machine("row-by-row-prescott", "rows", core="Prescott"),
    ]


def _wide_features() -> list[str]:
    """What numpy would choose at run time beyond AVX2."""
    return [name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4"))]


def _without(features: Sequence[str]) -> dict[str, str]:
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}


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
