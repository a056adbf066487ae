"""Runs in a process of its own, whose environment says which CPU to play; writes what it found.

`python -m tests.conformance.variant_child REPORT KERNELS "LACKING FEATURES" QUESTION...`
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from tests.conformance import vectors
from tests.conformance.variants import features

ROOM = "opgraph/tests"
# Memory and the refusal of hostile graphs do not depend on the CPU.
OPERATORS = (
    "test_operators.py",
    "test_references.py",
    "test_random_graphs.py",
    "test_solving.py",
    "test_windows.py",
    "test_control.py",
    "test_executor.py",
    "test_product.py",
    "verification",
)
SOME = "test_the_result_is_right and (matmul or exp or sum or sort or erf or conv2d)"


class Counter:
    """Counts the tests that passed and keeps the words of those that did not."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.failed.append(f"{report.nodeid}: {str(report.longrepr)[-600:]}")


def tested(*options: str) -> dict[str, Any]:
    """What pytest says about these."""
    counter = Counter()
    # The root's conftest reads there whether the site is tested.
    sys.argv = ["pytest", *options]
    options = ("-q", "-p", "no:cacheprovider", "-m", "not alone", *options)
    code = pytest.main([*options], plugins=[counter])
    failed = counter.failed or ([f"pytest ended with {code}"] if code else [])
    return {"ran": counter.passed, "wrong": failed}


def operators() -> dict[str, Any]:
    """Every test of opgraph that computes."""
    return tested("-k", "not memory", *(f"{ROOM}/{each}" for each in OPERATORS))


def some_operators() -> dict[str, Any]:
    """A few of them, in a second or two."""
    return tested("-k", SOME, f"{ROOM}/test_operators.py")


def onnx() -> dict[str, Any]:
    """Every ONNX node test that is translated."""
    from tests.conformance.cases import all_cases, outcome

    warnings.simplefilter("ignore")
    found = [outcome(case) for case in all_cases()]
    wrong = [f"{each.name}: {each.wrong}" for each in found if each.wrong]
    return {"ran": sum(not each.reason for each in found), "wrong": wrong}


def array_api() -> dict[str, Any]:
    """Every function of the Array API, a tenth as often as on the CPU as it is."""
    from tests.conformance.array_api import part

    found = part.rows(part.EXAMPLES // 10, part.PER_ASPECT // 10)
    return {
        "ran": sum(row.ran for row in found),
        "wrong": [fault for row in found for fault in row.wrong],
    }


def random() -> dict[str, Any]:
    """Random numbers by their bits."""
    pairs = zip(vectors.EXACT, vectors.digests(), vectors.DIGESTS, strict=True)
    wrong = [f"{call}: other bits" for call, found, right in pairs if found != right]
    return {"ran": len(vectors.EXACT), "wrong": wrong, "normals": vectors.normals()}


QUESTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "operators": operators,
    "some operators": some_operators,
    "onnx": onnx,
    "array-api": array_api,
    "random": random,
}


def is_that_variant(kernels: str, lacking: str) -> str:
    """What is wrong with the environment, or nothing."""
    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    loaded = {each.get("architecture") for each in threadpool_info() if each["user_api"] == "blas"}
    if loaded != {kernels}:
        return f"OpenBLAS runs the kernels of {loaded}, not {kernels}."
    kept = set(lacking.split()) & set(features())
    return f"numpy still uses {kept}." if kept else ""


def main(report: str, kernels: str, lacking: str, *questions: str) -> int:
    """Answer the questions; 1 where this is another CPU than was asked for."""
    if wrong := is_that_variant(kernels, lacking):
        print(wrong)
        return 1
    answers = {}
    for each in questions:
        began = time.monotonic()
        answers[each] = {**QUESTIONS[each](), "seconds": time.monotonic() - began}
    Path(report).write_text(json.dumps(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
