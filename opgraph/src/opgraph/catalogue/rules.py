"""Rules that many declarations share: dtype tables, shape rules, counts, error rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import (
    Call,
    Count,
    DtypeTable,
    ErrorRule,
    Implementation,
    ShapeRule,
    Work,
    nothing,
)
from opgraph.errors import GraphError
from opgraph.tensors import Array, Shape, TensorType


def same_dtype(arity: int, dtypes: Iterable[str]) -> DtypeTable:
    """All operands and the result have one dtype."""
    return {(dtype,) * arity: (dtype,) for dtype in dtypes}


def same_shape(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    """All operands and the result have one shape; broadcasting is a node of its own."""
    if any(shape != shapes[0] for shape in shapes):
        raise GraphError("wrong_shape", f"The operands' shapes differ: {list(shapes)}.")
    return (shapes[0],)


def per_element(number: int) -> Work:
    """So many operations for each element of the first operand."""
    summary = f"{number} for each element" if number > 1 else "1 for each element"
    return Work(lambda types, _attributes: number * types[0].elements, summary)


ONE_PER_ELEMENT = per_element(1)


def rounded_once(exact: Callable[[Sequence[Array], Attributes], Array], summary: str) -> ErrorRule:
    """The rule of an operator whose exact result is rounded once."""
    return ErrorRule(exact, lambda _types, _attributes: 1.0, summary)


EXACT = ErrorRule(
    lambda operands, _attributes: abs(operands[0]) * 0.0,
    lambda _types, _attributes: 0.0,
    "exact",
)

EXACT_FROM_ATTRIBUTES = ErrorRule(
    lambda _operands, _attributes: 0.0, lambda _types, _attributes: 0.0, "exact"
)
"""The same where there are no operands."""


def of_magnitudes(
    run: Implementation, shapes: ShapeRule, scratch: Count = nothing
) -> Callable[[Sequence[Array], Attributes], Array]:
    """A scale: the first result of an operator that is linear in its operands, of magnitudes."""

    def scale(operands: Sequence[Array], attributes: Attributes) -> Array:
        sizes = [numpy.abs(each) if each.dtype.kind == "f" else each for each in operands]
        types = [TensorType(str(each.dtype), each.shape) for each in sizes]
        given = [type_.shape for type_ in types]
        results = [numpy.empty(shape) for shape in shapes(given, attributes)]
        lent = numpy.empty(scratch(types, attributes), numpy.uint8)
        run(Call(numpy, types, sizes, attributes, results, lent))
        return results[0]

    return scale
