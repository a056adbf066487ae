"""Comparison, logic, and choice between two tensors."""

from __future__ import annotations

from collections.abc import Sequence

from opgraph.catalogue.declaration import Call, DtypeTable, Implementation, Operator
from opgraph.catalogue.elementwise import ufunc
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, same_shape
from opgraph.tensors import DTYPES, FLOATS, INTEGERS

_NAN = "NaN is not equal to, nor less or greater than, anything; -0 equals 0."
_ALL = (*FLOATS, *INTEGERS, "bool")


def _to_bool(arity: int, dtypes: Sequence[str]) -> DtypeTable:
    return {(dtype,) * arity: ("bool",) for dtype in dtypes}


def _test(
    name: str,
    summary: str,
    dtypes: Sequence[str],
    special: str,
    *,
    arity: int = 2,
    run: Implementation | None = None,
) -> Operator:
    return Operator(
        name=name,
        family="comparison",
        summary=summary,
        operands=("left", "right")[:arity] if arity > 1 else ("operand",),
        dtypes=_to_bool(arity, dtypes),
        shapes=same_shape,
        run=run or ufunc(name),
        flops=ONE_PER_ELEMENT,
        error=EXACT,
        special_values=special,
        in_place=tuple(range(arity)) if tuple(dtypes) == ("bool",) else (),
    )


def _comparison(name: str, sign: str) -> Operator:
    return with_halves(_test(name, f"Whether left {sign} right.", _ALL, _NAN))


def _where(call: Call) -> None:
    condition, left, right = call.operands
    result = call.results[0]
    if result is not right:
        result[...] = right
    call.xp.copyto(result, left, where=condition)


EQUAL = _comparison("equal", "=")
NOT_EQUAL = _comparison("not_equal", "is not equal to")
LESS = _comparison("less", "<")
LESS_EQUAL = _comparison("less_equal", "<=")
GREATER = _comparison("greater", ">")
GREATER_EQUAL = _comparison("greater_equal", ">=")

_LOGIC = "There are no special values."
LOGICAL_AND = _test("logical_and", "Whether both are true.", ("bool",), _LOGIC)
LOGICAL_OR = _test("logical_or", "Whether one is true.", ("bool",), _LOGIC)
LOGICAL_XOR = _test("logical_xor", "Whether just one is true.", ("bool",), _LOGIC)
LOGICAL_NOT = _test("logical_not", "Whether it is false.", ("bool",), _LOGIC, arity=1)

ISNAN = with_halves(_test("isnan", "Whether it is NaN.", FLOATS, "NaN gives true.", arity=1))
ISINF = with_halves(
    _test("isinf", "Whether it is an infinity.", FLOATS, "NaN gives false.", arity=1)
)
ISFINITE = with_halves(
    _test("isfinite", "Whether it is a number.", FLOATS, "NaN and infinities give false.", arity=1)
)
SIGNBIT = with_halves(
    _test("signbit", "Whether the sign is negative.", FLOATS, "-0 gives true.", arity=1)
)

WHERE = Operator(
    name="where",
    family="comparison",
    summary="Elements of left where the condition is true, of right elsewhere.",
    operands=("condition", "left", "right"),
    dtypes={("bool", dtype, dtype): (dtype,) for dtype in DTYPES},
    shapes=same_shape,
    run=_where,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values="Every bit is kept, those of NaN too.",
    in_place=(2,),
)

OPERATORS = (
    EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR,
    LOGICAL_XOR, LOGICAL_NOT, ISNAN, ISINF, ISFINITE, SIGNBIT, WHERE,
)  # fmt: skip
