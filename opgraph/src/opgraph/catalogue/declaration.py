"""The form in which an operator is declared: everything that anyone needs to know of it.

The validator, the executor, the cost and memory models, credit, verification, the web catalogue
and the documentation read this one object; nothing about an operator is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from opgraph.errors import GraphError
from opgraph.tensors import DTYPES, Array, Shape, TensorType

AttributeValue: TypeAlias = int | float | bool | str | tuple[int, ...]
AttributeKind: TypeAlias = Literal["integer", "integers", "float", "boolean", "dtype"]
Attributes: TypeAlias = Mapping[str, AttributeValue]
Types: TypeAlias = Sequence[TensorType]

DtypeTable: TypeAlias = Mapping[tuple[str, ...], tuple[str, ...]]
"""Dtypes of the operands, then that of the attribute `dtype` if there is one -> of the results."""

INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1

LONGEST_LIST = 64
"""Of integers in an attribute: shape rules multiply them, and a long product takes for ever."""

ShapeRule: TypeAlias = Callable[[Sequence[Shape], Attributes], tuple[Shape, ...]]
Count: TypeAlias = Callable[[Types, Attributes], int]
View: TypeAlias = Callable[[Array, Attributes], Array]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One constant of a node."""

    name: str
    kind: AttributeKind
    summary: str


@dataclass(frozen=True, slots=True)
class Call:
    """What an implementation gets: operands with their types, attributes, and room.

    `results` are C-contiguous arrays of the right type that it must fill; one of them is an
    operand itself where the operator allows that. `scratch` is a flat uint8 array of the size
    that the operator declares.
    """

    xp: Any
    types: Types
    operands: Sequence[Array]
    attributes: Attributes
    results: Sequence[Array]
    scratch: Array


Implementation: TypeAlias = Callable[[Call], None]


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """How far an honest float result may lie from the exact one.

    |y - exact| <= coefficient * u * S + K * 2^-126, with u the unit roundoff of the result's dtype
    and S = `scale(operands in float64, attributes)`. Coefficient 0 means equal bits.
    """

    scale: Callable[[Sequence[Array], Attributes], Array]
    coefficient: Callable[[Types, Attributes], float]
    summary: str


def _is_integer(value: object) -> bool:
    return type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX


def fits(kind: AttributeKind, value: AttributeValue) -> bool:
    """Whether a value is one of that kind of attribute."""
    if kind == "integers":
        return (
            isinstance(value, tuple) and len(value) <= LONGEST_LIST and all(map(_is_integer, value))
        )
    if kind == "integer":
        return _is_integer(value)
    if kind == "dtype":
        return isinstance(value, str) and value in DTYPES
    return type(value) is (float if kind == "float" else bool)


def nothing(_types: Types, _attributes: Attributes) -> int:
    """A count of zero."""
    return 0


@dataclass(frozen=True)
class Operator:
    """A declaration.

    `flops` counts arithmetic operations (2 for a multiply-add), `temporaries` the bytes that the
    implementation allocates inside, `scratch` the bytes that it wants lent. `view` marks an
    operator whose result shares the memory of its operand; `needs_contiguous` one that is a view
    only of a C-contiguous operand and else a copy made by `run`. `in_place` lists the operands
    whose memory the result may take over.
    """

    name: str
    family: str
    summary: str
    operands: tuple[str, ...]
    dtypes: DtypeTable
    shapes: ShapeRule
    run: Implementation
    flops: Count
    error: ErrorRule
    special_values: str
    attributes: tuple[Attribute, ...] = ()
    version: int = 1
    temporaries: Count = nothing
    scratch: Count = nothing
    view: View | None = None
    needs_contiguous: bool = False
    in_place: tuple[int, ...] = field(default=())

    def infer(self, types: Types, attributes: Attributes) -> tuple[TensorType, ...]:
        """Types of the results. Raises GraphError where operands or attributes do not fit."""
        self._check_arity(types)
        self._check_attributes(attributes)
        dtypes = self._result_dtypes(types, attributes)
        shapes = self.shapes([each.shape for each in types], attributes)
        return tuple(map(TensorType, dtypes, shapes))

    def _check_arity(self, types: Types) -> None:
        if len(types) != len(self.operands):
            raise GraphError(
                "wrong_arity", f"{self.name} takes {len(self.operands)} operands, not {len(types)}."
            )

    def _check_attributes(self, attributes: Attributes) -> None:
        kinds = {each.name: each.kind for each in self.attributes}
        if kinds.keys() != attributes.keys():
            raise GraphError(
                "wrong_attributes", f"{self.name} takes the attributes {sorted(kinds)}."
            )
        for name, kind in kinds.items():
            if not fits(kind, attributes[name]):
                raise GraphError("wrong_attributes", f"{name} of {self.name} must be {kind}.")

    def _result_dtypes(self, types: Types, attributes: Attributes) -> tuple[str, ...]:
        key = tuple(each.dtype for each in types)
        if "dtype" in attributes:
            key += (str(attributes["dtype"]),)
        if key not in self.dtypes:
            raise GraphError("wrong_dtype", f"{self.name} is not defined for {', '.join(key)}.")
        return self.dtypes[key]
