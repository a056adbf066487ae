"""The operators, ONNX's cases, the Array API and the random numbers once more on every CPU that
this one can play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance import vectors
from tests.conformance.report import Row
from tests.conformance.variants import VARIANTS, Variant, ask, possible

QUESTIONS = ("operators", "onnx", "array-api", "random")


def rows() -> Iterator[Row]:
    """A row for every variant and question, and one for each that cannot be played here."""
    here = vectors.normals()
    for variant in VARIANTS:
        if variant in possible():
            yield from of_variant(variant, here)
        else:
            yield Row(variant.name, "not played: this CPU lacks it", 0, (), 0.0)


def of_variant(variant: Variant, here: dict[str, str]) -> Iterator[Row]:
    """What a process that plays the variant answers."""
    try:
        found = ask(variant, *QUESTIONS)
    except RuntimeError as error:
        yield Row(variant.name, "all", 0, (str(error),), 0.0)
        return
    for question, answer in found.items():
        wrong = [*answer["wrong"], *far_normals(answer, here)]
        yield Row(variant.name, question, answer["ran"], tuple(wrong), answer["seconds"])


def far_normals(answer: dict[str, Any], here: dict[str, str]) -> list[str]:
    """Dtypes whose normals lie further from this process's than they may."""
    return [
        f"normals of {dtype} differ by more than {most} units of the last place"
        for dtype, most in vectors.ULPS.items()
        if "normals" in answer
        and vectors.apart(answer["normals"][dtype], here[dtype], dtype) > most
    ]
