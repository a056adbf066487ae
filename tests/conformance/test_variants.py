"""A fast part of the CPU variants; `make conformance` runs all."""

from __future__ import annotations

import numpy
import pytest

from tests.conformance import vectors
from tests.conformance.report import Row, printed
from tests.conformance.variants import Variant, ask, possible
from tests.conformance.variants_part import far_normals


def test_some_operators_on_the_oldest_cpu() -> None:
    found = ask(possible()[-1], "some operators", "random", timeout=120)
    assert [answer["wrong"] for answer in found.values()] == [[], []]
    assert found["some operators"]["ran"] >= 10
    assert far_normals(found["random"], vectors.normals()) == []


def test_random_numbers_of_this_cpu_have_the_bits_of_all() -> None:
    assert vectors.digests() == vectors.DIGESTS


def test_a_process_that_plays_another_cpu_is_refused() -> None:
    other = Variant("Nehalem", "Nehalem", "Haswell", "")
    with pytest.raises(RuntimeError, match="'Nehalem'}, not Haswell"):
        ask(other, "random", timeout=120)


def test_normals_that_are_too_far_apart_are_seen() -> None:
    here = {dtype: numpy.ones(3, dtype).tobytes().hex() for dtype in vectors.ULPS}
    moved = {dtype: (numpy.ones(3, dtype) + 2.0**-20).astype(dtype) for dtype in vectors.ULPS}
    answer = {"normals": {dtype: each.tobytes().hex() for dtype, each in moved.items()}}
    assert far_normals({"normals": here}, here) == []
    assert len(far_normals(answer, here)) == 2


def test_the_table_says_what_was_wrong() -> None:
    rows = [Row("a", "b", 1000, ("oh",), 2.0), Row("aa", "bbb", 1, (), 0.4)]
    assert printed(rows).splitlines() == [
        "a, b: oh",
        "part  what    ran  wrong  seconds",
        "a     b     1,000      1        2",
        "aa    bbb       1      0        0",
    ]
