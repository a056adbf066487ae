"""Rounding of floats to whole numbers, which stay floats."""

from __future__ import annotations

from opgraph.catalogue.declaration import Operator
from opgraph.catalogue.elementwise import of_floats, ufunc
from opgraph.catalogue.rules import EXACT

_SPECIAL = "NaN, infinities and -0 stay; what rounds to 0 keeps its sign."


def _rounding(name: str, summary: str, numpy_name: str) -> Operator:
    return of_floats(name, "rounding", summary, EXACT, _SPECIAL, run=ufunc(numpy_name))


FLOOR = _rounding("floor", "The largest whole number that is not above.", "floor")
CEIL = _rounding("ceil", "The smallest whole number that is not below.", "ceil")
TRUNC = _rounding("trunc", "The whole part, towards zero.", "trunc")
ROUND = _rounding("round", "The nearest whole number; of two the even one.", "rint")

OPERATORS = (FLOOR, CEIL, TRUNC, ROUND)
