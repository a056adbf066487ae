"""What to try each operator with, and what must come out: one module per family.

A family's module says `SAMPLES = {name: Sample(...)}`; every operator of the catalogue has one, and
`test_operators.py` asks all of them the same questions.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from operator_samples.sample import Case, Sample


def _found() -> dict[str, Sample]:
    found: dict[str, Sample] = {}
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        module = import_module(f"operator_samples.{file.stem}")
        found.update(getattr(module, "SAMPLES", {}))
    return found


SAMPLES = _found()

__all__ = ["SAMPLES", "Case", "Sample"]
