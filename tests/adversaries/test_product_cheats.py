"""No wrong number of a product survives the check beyond its blind spot, whatever the cheat."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.verification import cheats, detection
from benchmarks.verification.data import Case

KINDS = [
    "normal",
    "one-signed",
    "constant",
    "badly-scaled",
    "one-large-column",
    "cancelling",
    "heavy-tailed",
    "overflowing",
    "non-finite",
    "sparse",
    "subnormal",
    "subnormal-products",
]
SHAPES = {"float32": (96, 300, 64), "float64": (48, 200, 40)}


@cache
def product(kind: str, dtype: str) -> detection.Product:
    return detection.Product(Case(kind, SHAPES[dtype], dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", cheats.CHEATS)
def test_nothing_wrong_survives(name: str, kind: str, dtype: str) -> None:
    for seed in range(2):
        item = product(kind, dtype)
        missed, judged = item.missed(item.answer(cheats.CHEATS[name], seed))
        assert not missed, judged


@pytest.mark.parametrize(
    "name",
    ["zeros", "noise", "one-entry-large", "one-column", "part-of-k", "stale", "bfloat16-inputs"],
)
def test_plain_fraud_is_convicted_with_evidence(name: str) -> None:
    item = product("normal", "float32")
    _, judged = item.missed(item.answer(cheats.CHEATS[name], 0))
    assert judged.outcome == "convict"
    assert judged.entry is not None


def test_lower_precision_is_never_accepted() -> None:
    for kind in KINDS[:7]:
        item = product(kind, "float32")
        for name in ("tf32-inputs", "bfloat16-inputs"):
            judged = item.judge(item.answer(cheats.CHEATS[name], 0))
            assert judged.outcome in ("reissue", "convict")


def test_pairs_that_cancel_escape_as_often_as_the_formula_says() -> None:
    case = Case("normal", (256, 64, 128), "float32")
    escaped = detection.missed_pairs(detection.Product(case, vectors=3), 2048)
    # 2048 / 8, within five standard deviations.
    assert abs(escaped - 256) < 75
    assert detection.missed_pairs(detection.Product(case, vectors=40), 2048) == 0
