"""Rules that many declarations share: dtype tables, shape rules, counts, error rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import DtypeTable, ErrorRule, Work
from opgraph.errors import GraphError
from opgraph.tensors import Array, Shape


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
