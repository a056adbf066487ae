"""ONNX's node tests: loaded in memory, translated, run, compared by our own tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from opgraph.errors import ComputationError, OpgraphError
from tests.conformance import einsum, elementwise, neural, quantised, reductions, shapes, windows
from tests.conformance.translation import Lowering, Unsupported, dtype_of, storage, translate

LOWERINGS: dict[str, Lowering] = {
    **elementwise.LOWERINGS,
    **shapes.LOWERINGS,
    **reductions.LOWERINGS,
    **neural.LOWERINGS,
    **windows.LOWERINGS,
    **quantised.LOWERINGS,
    **einsum.LOWERINGS,
}
TOLERANCE = {"float32": 1e-5, "float64": 1e-9, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""Times |expected| and the root mean square of the tensor: ONNX's own values are computed in the
dtype itself, so they are off by some u of their terms too."""

FEW_DIGITS = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-4}
"""Cases whose expected values are written down to so much only."""


@dataclass(frozen=True)
class Outcome:
    """`ran` or the reason why not; `wrong` says how a case that ran failed."""

    name: str
    operators: str
    reason: str = ""
    wrong: str = ""


@cache
def all_cases() -> tuple[TestCase, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(load_model_tests(kind="node"))


def outcomes(names: frozenset[str] | None = None) -> Iterator[Outcome]:
    for case in all_cases():
        if names is None or case.name in names:
            yield outcome(case)


def outcome(case: TestCase) -> Outcome:
    operators = ", ".join(sorted({node.op_type for node in case.model.graph.node}))
    try:
        for inputs, expected in case.data_sets:
            found = translate(case.model, inputs, LOWERINGS)
            for result, right in zip(found, expected, strict=True):
                compare(result, right, FEW_DIGITS.get(case.name, 0.0))
    except Unsupported as reason:
        return Outcome(case.name, operators, reason=str(reason))
    except ComputationError as error:
        return Outcome(case.name, operators, reason=f"an error with us: {error.code}")
    except (AssertionError, OpgraphError) as error:
        return Outcome(case.name, operators, wrong=f"{type(error).__name__}: {error}"[:300])
    return Outcome(case.name, operators)


def compare(result: Any, right: Any, written_to: float = 0.0) -> None:
    """Assert that a result is what ONNX expects; its floats are written down to `written_to`."""
    right = np.asarray(right)
    dtype = dtype_of(right)
    kept = storage(right)
    assert result.shape == kept.shape, (result.shape, kept.shape)
    assert result.dtype == kept.dtype, (result.dtype, kept.dtype)
    if dtype not in TOLERANCE:
        np.testing.assert_array_equal(result, kept)
        return
    wide = _wide(result, dtype), _wide(kept, dtype)
    with np.errstate(all="ignore"):
        finite = wide[1][np.isfinite(wide[1])]
        scale = np.abs(wide[1]) + np.sqrt(np.mean(finite**2)) if finite.size else 0.0
        near = np.abs(wide[0] - wide[1]) <= TOLERANCE[dtype] * scale + 1e-30 + written_to
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    assert np.all(near | same), np.max(np.abs(wide[0] - wide[1]))


def _wide(array: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def first_of_each() -> frozenset[str]:
    """The shortest case of every combination of operators: a fast part of all."""
    found: dict[str, TestCase] = {}
    for case in all_cases():
        operators = ", ".join(sorted({node.op_type for node in case.model.graph.node}))
        kept = found.get(operators)
        if kept is None or len(case.model.graph.node) < len(kept.model.graph.node):
            found[operators] = case
    short = (case for case in found.values() if len(case.model.graph.node) <= 3)
    return frozenset(case.name for case in short)


def table(found: list[Outcome]) -> str:
    """Cases run and, with the reason, not run."""
    ran = sorted(each.name for each in found if not each.reason)
    reasons: dict[str, list[str]] = {}
    for each in sorted(found, key=lambda each: each.name):
        if each.reason:
            reasons.setdefault(each.reason, []).append(each.name)
    count = f"{len(ran)} of {len(found)} cases run, all right"
    lines = [
        "# ONNX's node tests",
        "",
        f"onnx {onnx.__version__}: {count}. Made by `make conformance`.",
        "",
        "## Not run",
        "",
    ]
    for reason, names in sorted(reasons.items(), key=lambda each: (-len(each[1]), each[0])):
        lines.append(f"- {reason} ({len(names)}): {', '.join(names)}")
    return "\n".join([*lines, "", "## Run", "", ", ".join(ran), ""])
