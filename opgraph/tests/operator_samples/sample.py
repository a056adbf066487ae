"""The form of a sample, and ways to draw operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy

from opgraph.tensors import FLOATS, HALVES, TensorType, storage_dtype

T = TypeVar("T")
Row = tuple[str, ...]
"""A row of an operator's dtype table: what the operands are, then the attribute `dtype`."""

SIDES = (0, 1, 2, 3, 5)


@dataclass(frozen=True)
class Case:
    """Operands (in the storage of their dtypes) and attributes of one call."""

    dtypes: tuple[str, ...]
    arrays: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def types(self) -> list[TensorType]:
        return [TensorType(d, a.shape) for d, a in zip(self.dtypes, self.arrays, strict=True)]


@dataclass(frozen=True)
class Sample:
    """How to try one operator.

    `case(draw, row)` draws a call for that row of the dtype table: all shapes and attributes that
    the operator takes, empty arrays too. `exact(*operands, **attributes)` is written without the
    operator's own code: it gets floats as `longdouble`, integers as Python's (dtype object), bool
    as bool, and returns one array, or a tuple of arrays, of such numbers. `edges` are calls with
    special values and the very results that they must have. `large` is a call on a MiB or more,
    for the memory model.
    """

    case: Callable[[Draw, Row], Case]
    exact: Callable[..., Any]
    large: Callable[[], Case]
    edges: tuple[tuple[Case, tuple[Any, ...]], ...] = ()


class Draw:
    """Random choices that follow from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """A whole number, both bounds included."""
        return int(self.random.integers(low, high, endpoint=True))

    def choice(self, among: Sequence[T]) -> T:
        return among[self.integer(0, len(among) - 1)]

    def flag(self) -> bool:
        return self.integer(0, 1) == 1

    def shape(self, least: int = 0, most: int = 3, sides: Sequence[int] = SIDES) -> tuple[int, ...]:
        """`least` to `most` axes."""
        return tuple(self.choice(sides) for _ in range(self.integer(least, most)))

    def permutation(self, length: int) -> tuple[int, ...]:
        return tuple(int(each) for each in self.random.permutation(length))

    def numbers(
        self, dtype: str, shape: Sequence[int], low: float = -4.0, high: float = 4.0
    ) -> Any:
        """Floats between the bounds, integers of the whole range, or booleans."""
        shape = tuple(shape)
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        if dtype in (*FLOATS, *HALVES):
            return stored(self.random.uniform(low, high, shape), dtype)
        bounds = numpy.iinfo(dtype)
        return self.random.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True)

    def few(self, dtype: str, shape: Sequence[int], low: int = 0, high: int = 3) -> Any:
        """Whole numbers from a small range, bounds included, so that many are equal."""
        return stored(self.random.integers(low, high, tuple(shape), endpoint=True), dtype)


def values(array: Any, dtype: str) -> Any:
    """The numbers in an array of that dtype's storage: bfloat16 as float32, others as they are."""
    if dtype != "bfloat16":
        return array
    # An array of no axes would become a number when it is shifted.
    return numpy.asarray(array.astype("uint32") << 16).view("float32")


def widened(array: Any, dtype: str) -> Any:
    """The same numbers for exact arithmetic."""
    if dtype in (*FLOATS, *HALVES):
        return values(array, dtype).astype(numpy.longdouble)
    return array if dtype == "bool" else array.astype(object)


def stored(array: Any, dtype: str) -> Any:
    """Float64 numbers as an array of that dtype's storage; bfloat16 by cutting bits off."""
    if dtype != "bfloat16":
        return numpy.asarray(array).astype(storage_dtype(dtype))
    return (numpy.asarray(array, "float32").view("uint32") >> 16).astype("uint16")


def case(dtype: str, /, *arrays: Any, **attributes: Any) -> Case:
    """A call whose operands, given as numbers, all have one dtype."""
    made = tuple(stored(array, dtype) for array in arrays)
    return Case((dtype,) * len(made), made, attributes)


def elementwise(
    low: float = -4.0,
    high: float = 4.0,
    attributes: Callable[[Draw], dict[str, Any]] | None = None,
) -> Callable[[Draw, Row], Case]:
    """Operands of one shape; a row's last dtype is the attribute `dtype` where there is one."""

    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape()
        arrays = tuple(draw.numbers(dtype, shape, low, high) for dtype in row)
        return Case(row, arrays, attributes(draw) if attributes else {})

    return draw_case


def large(
    dtype: str = "float32",
    arity: int = 1,
    shape: Sequence[int] = (512, 1024),
    **attributes: Any,
) -> Callable[[], Case]:
    """A call on operands of one type, of a MiB or more."""

    def make() -> Case:
        draw = Draw(1)
        arrays = tuple(draw.numbers(dtype, shape, 0.5, 3.0) for _ in range(arity))
        return Case((dtype,) * arity, arrays, attributes)

    return make


def large_with(attributes: dict[str, Any]) -> Callable[[], Case]:
    """The same for one operand, where an attribute's name is `dtype`, `arity` or `shape`."""
    return lambda: Case(("float32",), (Draw(1).numbers("float32", (512, 1024)),), attributes)
