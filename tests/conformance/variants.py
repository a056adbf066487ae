"""CPUs of other volunteers, as far as this one can play them: numpy and OpenBLAS choose their code
when they are loaded, and two variables of the environment make them choose that of an older CPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Variant:
    """What OpenBLAS is told, the kernels that it then names, and the newest feature that numpy may
    use ("" leaves only what it was built for, None all that this CPU has)."""

    name: str
    core: str
    kernels: str
    newest: str | None

    def lacks(self) -> tuple[str, ...]:
        """Features that this CPU has and the variant has not."""
        if self.newest is None:
            return ()
        found = features()
        keep = found.index(self.newest) + 1 if self.newest else 0
        return found[keep:]

    def is_possible(self) -> bool:
        """Whether this CPU can play it."""
        return not self.newest or self.newest in features()

    def environment(self) -> dict[str, str]:
        """The variables that make it."""
        wanted = {
            "OPENBLAS_CORETYPE": self.core,
            "NPY_DISABLE_CPU_FEATURES": " ".join(self.lacks()),
        }
        return {key: value for key, value in wanted.items() if value}


# OpenBLAS runs the same kernels for Zen as for Haswell, and for Cooper Lake as for Skylake-X.
VARIANTS = (
    Variant("AVX-512 with extensions (Ice Lake, Sapphire Rapids)", "SkylakeX", "SkylakeX", None),
    Variant("AVX-512 (Skylake-X)", "SkylakeX", "SkylakeX", "X86_V4"),
    Variant("AVX2 (Haswell, Zen)", "Haswell", "Haswell", "X86_V3"),
    Variant("AVX (Sandy Bridge)", "Sandybridge", "Sandybridge", ""),
    Variant("SSE4.2 (Nehalem)", "Nehalem", "Nehalem", ""),
    Variant("SSE3 kernels (Prescott)", "Prescott", "Katmai", ""),
)
"""numpy needs SSE4.2 and has nothing between that and AVX2."""


@cache
def features() -> tuple[str, ...]:
    """Those that this CPU has and numpy chooses code by, older ones first."""
    # What `numpy.show_runtime()` prints; there is no function that returns it.
    umath = cast("Any", __import__("numpy._core._multiarray_umath", fromlist=["x"]))
    found = umath.__cpu_features__
    return tuple(each for each in umath.__cpu_dispatch__ if found[each])


@cache
def possible() -> tuple[Variant, ...]:
    """The variants that this CPU can play; AVX-512 only where it has that."""
    has_512 = "X86_V4" in features()
    return tuple(
        each for each in VARIANTS if each.is_possible() and (has_512 or each.core != "SkylakeX")
    )


def ask(variant: Variant, *questions: str, timeout: float = 1800) -> dict[str, Any]:
    """What a process that plays the variant finds out; see `variant_child`. Raises RuntimeError
    with the end of what it printed where it fails or is no such variant."""
    clean = {key: value for key, value in os.environ.items() if key not in _OURS}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "tests.conformance.variant_child", str(report)]
        command += [variant.kernels, " ".join(variant.lacks()), *questions]
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=clean | variant.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if ended.returncode:
            raise RuntimeError(f"{variant.name}: {(ended.stdout + ended.stderr)[-3000:]}")
        return cast("dict[str, Any]", json.loads(report.read_text()))


_OURS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES")
