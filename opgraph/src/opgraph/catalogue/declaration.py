"""The form in which an operator is declared: everything that anyone needs to know of it.

The validator, the executor, the cost and memory models, credit, verification, the web catalogue
and the documentation read this one object; nothing about an operator is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from opgraph.catalogue.attributes import Attribute, Attributes, AttributeValue
from opgraph.errors import GraphError
from opgraph.tensors import Array, Shape, TensorType

if TYPE_CHECKING:
    from opgraph.builder import GraphBuilder

Types: TypeAlias = Sequence[TensorType]

DtypeTable: TypeAlias = Mapping[tuple[str, ...], tuple[str, ...]]
"""Dtypes of the operands, then that of the attribute `dtype` if there is one -> of the results."""

ShapeRule: TypeAlias = Callable[[Sequence[Shape], Attributes], tuple[Shape, ...]]
Typing: TypeAlias = Callable[[Types, Attributes], tuple[TensorType, ...]]
Count: TypeAlias = Callable[[Types, Attributes], int]
View: TypeAlias = Callable[[Array, Attributes], Array]
Reference: TypeAlias = "Callable[[GraphBuilder, Sequence[int], Attributes], Sequence[int]]"
"""Builds the operator out of others: value numbers of the operands -> of the results."""


def go_on() -> None:
    """What a call asks from time to time where nobody can cancel it."""


@dataclass(slots=True)
class Call:
    """What an implementation gets: operands with their types, attributes, and room.

    `results` are C-contiguous arrays of the right type that it must fill; one of them is an
    operand itself where the operator allows that. `scratch` is a flat uint8 array of the size
    that the operator declares. `check` raises ExecutionCancelled once the run is to end; what
    takes seconds calls it now and then. Not frozen: making a frozen
    one takes as long as a small step.
    """

    xp: Any
    types: Types
    operands: Sequence[Array]
    attributes: Attributes
    results: Sequence[Array]
    scratch: Array
    check: Callable[[], None] = go_on


Implementation: TypeAlias = Callable[[Call], None]


@dataclass(frozen=True, slots=True)
class Work:
    """How many arithmetic operations a node is (2 for a multiply-add), and that in words."""

    count: Count
    summary: str

    def __call__(self, types: Types, attributes: Attributes) -> int:
        return self.count(types, attributes)


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """How far an honest float result may lie from the exact one.

    |y - exact| <= coefficient * u * S + K * 2^-126, with u the unit roundoff of the result's dtype
    and S = `scale(operands in float64, attributes)`. Coefficient 0 means equal bits.
    """

    scale: Callable[[Sequence[Array], Attributes], Array]
    coefficient: Callable[[Types, Attributes], float]
    summary: str


def nothing(_types: Types, _attributes: Attributes) -> int:
    """A count of zero."""
    return 0


@dataclass(frozen=True)
class Operator:
    """A declaration.

    `since` is the first catalogue that has it. `typing` takes the place of the dtype table and the
    shape rule where these cannot say what the results are. With `variadic` the last operand may
    come more than once, always in one dtype, which the dtype table names once.

    `run` works over an array module; `run_cupy` takes its place on a GPU where numpy and cupy
    disagree on what is asked. `reference` is the definition in other operators of one that is fused
    for speed. `temporaries` are the bytes that the implementation allocates inside, `scratch` the
    bytes that it wants lent. With `contiguous` it gets operands in row-major order: the executor
    copies those that are not, and the memory model counts the copies.

    `view` marks an operator whose result shares the memory of its operand; `needs_contiguous` one
    that is a view only of a C-contiguous operand and else a copy made by `run`. `in_place` lists
    the operands whose memory the first result may take over.
    """

    name: str
    family: str
    summary: str
    operands: tuple[str, ...]
    dtypes: DtypeTable
    shapes: ShapeRule
    run: Implementation
    flops: Work
    error: ErrorRule
    special_values: str
    attributes: tuple[Attribute, ...] = ()
    version: int = 1
    since: int = 1
    variadic: bool = False
    typing: Typing | None = None
    run_cupy: Implementation | None = None
    reference: Reference | None = None
    temporaries: Count = nothing
    scratch: Count = nothing
    contiguous: bool = False
    view: View | None = None
    needs_contiguous: bool = False
    in_place: tuple[int, ...] = field(default=())

    def infer(self, types: Types, attributes: Attributes) -> tuple[TensorType, ...]:
        """Types of the results. Raises GraphError where operands or attributes do not fit."""
        self._check_arity(types)
        self._check_attributes(attributes)
        if self.typing is not None:
            return self.typing(types, attributes)
        dtypes = self._result_dtypes(types, attributes)
        shapes = self.shapes([each.shape for each in types], attributes)
        return tuple(map(TensorType, dtypes, shapes))

    def implementation(self, on_gpu: bool) -> Implementation:
        """What runs it there."""
        return self.run_cupy if on_gpu and self.run_cupy else self.run

    def _check_arity(self, types: Types) -> None:
        wanted = len(self.operands)
        if len(types) == wanted or (self.variadic and len(types) > wanted):
            return
        raise GraphError(
            "wrong_arity",
            f"{self.name} takes {wanted} operands{' or more' * self.variadic}, not {len(types)}.",
        )

    def _check_attributes(self, attributes: Attributes) -> None:
        known = {each.name: each for each in self.attributes}
        if known.keys() != attributes.keys():
            raise GraphError(
                "wrong_attributes", f"{self.name} takes the attributes {sorted(known)}."
            )
        for name, attribute in known.items():
            if not attribute.fits(attributes[name]):
                raise GraphError(
                    "wrong_attributes", f"{name} of {self.name} must be {attribute.wanted}."
                )

    def _result_dtypes(self, types: Types, attributes: Attributes) -> tuple[str, ...]:
        key = self._dtype_key(types)
        if "dtype" in attributes:
            key += (str(attributes["dtype"]),)
        if key not in self.dtypes:
            raise GraphError("wrong_dtype", f"{self.name} is not defined for {', '.join(key)}.")
        return self.dtypes[key]

    def _dtype_key(self, types: Types) -> tuple[str, ...]:
        key = tuple(each.dtype for each in types)
        count = len(self.operands)
        # Operands that are repeated in one dtype count once; in several, no row of the table fits.
        return key[:count] if len(set(key[count - 1 :])) <= 1 else key


__all__ = [
    "Attribute",
    "AttributeValue",
    "Attributes",
    "Call",
    "Count",
    "DtypeTable",
    "ErrorRule",
    "Implementation",
    "Operator",
    "Types",
    "Work",
]
