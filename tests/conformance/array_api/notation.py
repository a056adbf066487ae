"""Questions about `einsum`, which is numpy's and not of the standard: subscripts of all forms."""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import strategies as st

from gpugoblin import local, xp
from tests.conformance.array_api import values
from tests.conformance.array_api.comparison import Tolerance, difference
from tests.conformance.array_api.values import NUMBERS, Draw

_LETTERS = "abcAz"
_BOUND = 8.0

_TERMS = Tolerance(
    4,
    "all products of one element of each operand, added in any order: n u times the largest",
    lambda _result, arguments: numpy.prod([each.size * _BOUND for each in arguments]) ** 2 + 1,
)


def einsum(draw: Draw) -> str:
    """What is wrong with `einsum` for some subscripts and operands, or nothing."""
    lengths = {letter: draw(st.integers(0, 3)) for letter in _LETTERS}
    further = draw(st.lists(st.integers(0, 3), max_size=2))
    dotted = draw(st.booleans())
    count = draw(st.integers(1, 4))
    terms = [_term(draw, lengths, further if dotted else None) for _ in range(count)]
    dtype = draw(st.sampled_from(NUMBERS))
    subscripts = ",".join(text for text, _ in terms) + _result(draw, [text for text, _ in terms])
    operands = [values.of_shape(draw, dtype, shape, -_BOUND, _BOUND) for _, shape in terms]
    theirs = numpy.asarray(numpy.einsum(subscripts, *operands))
    ours = xp.einsum(subscripts, *map(local.array, operands)).compute()
    fault = difference(ours, theirs, _TERMS, tuple(operands))
    return f"einsum({subscripts!r}, {operands}): {fault}" if fault else ""


def _term(draw: Draw, lengths: dict[str, int], further: Any) -> tuple[str, tuple[int, ...]]:
    """The text of an operand, and its shape: sometimes an axis has length 1 and broadcasts."""
    letters = draw(st.lists(st.sampled_from(_LETTERS), max_size=3))
    short = {letter: 1 if draw(st.integers(0, 5)) == 0 else lengths[letter] for letter in letters}
    named = [short[letter] for letter in letters]
    if further is None:
        return "".join(letters), tuple(named)
    place = draw(st.integers(0, len(letters)))
    text = "".join((*letters[:place], "...", *letters[place:]))
    own = further[draw(st.integers(0, len(further))) :]
    return text, (*named[:place], *own, *named[place:])


def _result(draw: Draw, terms: list[str]) -> str:
    if draw(st.booleans()):
        return ""
    known = sorted({letter for text in terms for letter in text if letter != "."})
    chosen = draw(st.permutations(known))[: draw(st.integers(0, len(known)))] if known else []
    dots = "..." if any("..." in text for text in terms) else ""
    place = draw(st.integers(0, len(chosen)))
    return "->" + "".join((*chosen[:place], dots, *chosen[place:]))
