"""Applying an operator to lazy arrays: casts, broadcasts, and nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy

import gpugoblin.array as core
import gpugoblin.local as local
from gpugoblin import words
from gpugoblin.arrays import dtypes
from gpugoblin.arrays.dtypes import BOOL, FLOATING, INTEGRAL
from gpugoblin.arrays.origin import at, users_line
from gpugoblin.arrays.values import Application, Applied, Value
from gpugoblin.errors import BadArgument, DtypeUnsupported, NotComputed, ShapeMismatch, TooLarge
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.attributes import Attributes, AttributeValue
from opgraph.errors import GraphError
from opgraph.tensors import HALVES, Shape, TensorType
from opgraph.validation import Limits

Scalar: TypeAlias = bool | int | float
Operand: TypeAlias = "core.Array | Scalar"
LIMITS = Limits()
"""What one graph may be: the same here as on the network."""


def apply(operator: str, /, *operands: core.Array, **attributes: AttributeValue) -> core.Array:
    """The one result of an operator of the catalogue. Raises what `apply_all` raises."""
    (result,) = apply_all(operator, operands, attributes)
    return result


def apply_all(
    operator: str, operands: Sequence[core.Array], attributes: Attributes
) -> tuple[core.Array, ...]:
    """All results of an operator of the catalogue.

    Raises `ShapeMismatch`, `DtypeUnsupported` or `BadArgument` where operands or attributes do not
    fit, `TooLarge` above the limits of a graph, `NotComputed` for arrays of different places.
    """
    home = common_home(operands)
    values = tuple([each.value for each in operands])
    types = [each.type for each in values]
    try:
        results = OPERATORS[operator].infer(types, attributes)
    except GraphError as error:
        raise _in_users_words(operator, types, error) from None
    for result in results:
        _check_limits(result)
    made = Application(operator, values, attributes, results, users_line())
    return tuple(
        [
            core.of_value(home, Value(Applied(made, position), type_))
            for position, type_ in enumerate(results)
        ]
    )


def _in_users_words(operator: str, types: Sequence[TensorType], error: GraphError) -> Exception:
    given = f"{operator}({', '.join(map(str, types))}){at(users_line())}: {error.message}"
    kind = {"wrong_shape": ShapeMismatch, "wrong_dtype": DtypeUnsupported}
    return kind.get(error.code, BadArgument)(given)


def _check_limits(type_: TensorType) -> None:
    if type_.rank > LIMITS.rank:
        raise TooLarge(f"An array of {type_.rank} axes; at most {LIMITS.rank} are computed.")
    if type_.elements > LIMITS.elements:
        raise TooLarge(
            f"An array of {words.shape(type_.shape)} {type_.dtype} ({words.size(type_.nbytes)});"
            f" at most 2^{LIMITS.elements.bit_length() - 1} elements are computed."
        )


def common_home(arrays: Sequence[core.Array]) -> core.Home:
    """Where all of them are; constants are everywhere. Raises `NotComputed` for two places."""
    first: core.Array | None = None
    for array in arrays:
        if array.home is local.ANYWHERE or (first is not None and array.home is first.home):
            continue
        if first is None:
            first = array
        elif not first.home.owns(array):
            raise NotComputed(
                f"{first.source.label} is {first.home.where}, {array.source.label}"
                f" {array.home.where}: both arrays have to be in one place."
            )
    return first.home if first is not None else local.ANYWHERE


def array_of(x: Any, name: str = "x") -> core.Array:
    """`x` if it is a lazy array; a numpy array becomes one of this process.

    Raises `BadArgument`, which says how to make one, for everything else.
    """
    if isinstance(x, core.Array):
        return x
    if isinstance(x, numpy.ndarray | numpy.generic):
        return local.HOME.adopt(x)
    raise BadArgument(
        f"{name} must be an array, not {type(x).__name__}; make one with gpugoblin.xp.asarray(x)."
    )


def arrays_of(*operands: Any) -> list[core.Array]:
    """Arrays of operands of which some, but not all, may be Python scalars.

    A scalar takes the element type of the arrays: bool that of bool arrays, int that of integers
    and floats, float that of floats. Raises `DtypeUnsupported` for others.
    """
    arrays = [None if isinstance(each, SCALARS) else _joining(each, operands) for each in operands]
    present = [each for each in arrays if each is not None]
    if not present:
        raise BadArgument("One of the operands must be an array; all are Python numbers.")
    dtype = present[0].type.dtype
    for each in present[1:]:
        dtype = dtypes.promoted(dtype, each.type.dtype)
    # Beside one array a number has its shape at once: the same number again is the same node.
    shape = present[0].type.shape if len(present) == 1 else ()
    return [
        scalar(given, dtype, shape) if made is None else made
        for given, made in zip(operands, arrays, strict=True)
    ]


SCALARS = (int, float, complex)
"""Python's numbers; bool is one of the integers, numpy's float64 one of the floats."""


def _joining(x: Any, operands: Sequence[Any]) -> core.Array:
    """`x` as an array at the place of the other operands."""
    if isinstance(x, core.Array):
        return x
    if isinstance(x, numpy.ndarray | numpy.generic):
        for each in operands:
            if isinstance(each, core.Array) and each.home is not local.ANYWHERE:
                return each.home.joining(x)
    return array_of(x, "An operand")


def scalar(value: Scalar | complex, dtype: str, shape: Shape = ()) -> core.Array:
    """A Python number, which that dtype can hold, everywhere. Raises `DtypeUnsupported`."""
    if isinstance(value, bool):
        if dtype in BOOL:
            return constant(value, dtype, shape)
    elif isinstance(value, int):
        if dtype in INTEGRAL:
            return constant(_fitting(value, dtype), dtype, shape)
        if dtype in FLOATING:
            return constant(_as_float(value), dtype, shape)
    elif isinstance(value, float) and dtype in FLOATING:
        return constant(float(value), dtype, shape)
    raise DtypeUnsupported(
        f"The Python {type(value).__name__} {value!r} does not go with an array of {dtype};"
        " nothing is converted silently. Cast the array first: x.astype(...)."
    )


def default_dtype(value: Any) -> str:
    """The name of the dtype that a Python number has where no array says another."""
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int) else "float64"


def _fitting(value: int, dtype: str) -> int:
    low, high = dtypes.smallest(dtype), dtypes.largest(dtype)
    if not low <= value <= high:
        raise BadArgument(f"{value} is no {dtype}: these go from {low} to {high}.")
    return value


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise BadArgument("That integer is larger than the largest float.") from None


def constant(value: Scalar, dtype: str, shape: Shape = ()) -> core.Array:
    """One number everywhere; `value` is one that the dtype has. It takes no memory of its own."""
    sign = math.copysign(1.0, value) if isinstance(value, float) else 0.0
    return core.of_value(local.ANYWHERE, _kept(value, dtype, shape, sign))


@lru_cache(maxsize=1024)
def _kept(value: Scalar, dtype: str, shape: Shape, _sign: float) -> Value:
    """Values never change, so a constant is made once; 0.0 and -0.0 are two."""
    if shape:
        return broadcast(constant(value, dtype), shape).value
    if dtype in FLOATING:
        return apply("full", shape=shape, value=float(value), dtype=dtype).value
    if dtype in BOOL:
        one = apply("full_integers", shape=shape, value=int(value), dtype="uint8")
        return cast(one, "bool").value
    return apply("full_integers", shape=shape, value=int(value), dtype=dtype).value


def again(x: core.Array) -> core.Array:
    """Another name for the same value: setting items of one leaves the other as it is."""
    return core.of_value(x.home, x.value)


def cast(x: core.Array, dtype: str) -> core.Array:
    """`x` in another dtype: a node of its own, or `x` itself.

    16-bit floats are only turned into float32 and back, so others reach them in two steps.
    """
    has = x.type.dtype
    if has == dtype:
        return x
    if "float32" not in (has, dtype) and (has in HALVES or dtype in HALVES):
        x = apply("astype", x, dtype="float32")
    return apply("astype", x, dtype=dtype)


def paired(name: str, *operands: Any) -> list[core.Array]:
    """Arrays of one type and shape from operands of which some may be Python numbers.

    What doesn't go together is refused with the call, as `add(float32[2], int64[2])`, and its line.
    """
    try:
        return same_shape(*same_type(*arrays_of(*operands)))
    except (BadArgument, DtypeUnsupported, NotComputed, ShapeMismatch) as error:
        raise type(error)(f"{called(name, operands)}: {error.detail}") from None


def called(name: str, operands: Sequence[Any]) -> str:
    """A call in the user's words: operands by their types, and the line."""
    given = ", ".join(str(each.type) if isinstance(each, core.Array) else _shown(each)
                      for each in operands)  # fmt: skip
    return f"{name}({given}){at(users_line())}"


def _shown(operand: Any) -> str:
    if isinstance(operand, numpy.ndarray):
        return f"numpy {operand.dtype}{list(operand.shape)}"
    return f"{operand!r:.40}" if isinstance(operand, SCALARS) else type(operand).__name__


def same_type(*arrays: core.Array) -> list[core.Array]:
    """The arrays in the dtype that they promote to. Raises `DtypeUnsupported`."""
    dtype = arrays[0].type.dtype
    for each in arrays[1:]:
        dtype = dtypes.promoted(dtype, each.type.dtype)
    return [cast(each, dtype) for each in arrays]


def same_shape(*arrays: core.Array) -> list[core.Array]:
    """The arrays broadcast against one another. Raises `ShapeMismatch`."""
    shape = arrays[0].type.shape
    if all(each.type.shape == shape for each in arrays):
        return list(arrays)
    shape = broadcast_shape(*(each.type.shape for each in arrays))
    return [broadcast(each, shape) for each in arrays]


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape that all of them broadcast to. Raises `ShapeMismatch`."""
    rank = max(map(len, shapes))
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    sides = []
    for lengths in zip(*aligned, strict=True):
        others = {length for length in lengths if length != 1}
        if len(others) > 1:
            raise ShapeMismatch(
                f"The shapes {' and '.join(map(str, dict.fromkeys(shapes)))} do not broadcast: of"
                f" the lengths {' and '.join(map(str, dict.fromkeys(lengths)))} of an axis all"
                " must be equal, or 1."
            )
        sides.append(others.pop() if others else 1)
    return tuple(sides)


def spreads(shape: Shape, wanted: Shape) -> bool:
    """Whether a shape broadcasts to just that other one."""
    pairs = zip(shape[::-1], wanted[::-1], strict=False)
    return len(shape) <= len(wanted) and all(old in (1, new) for old, new in pairs)


def broadcast(x: core.Array, shape: Shape) -> core.Array:
    """`x` spread to a shape that its own broadcasts to."""
    if x.type.shape == shape:
        return x
    rank = len(shape)
    if len(x.type.shape) < rank:
        x = apply("reshape", x, shape=(1,) * (rank - len(x.type.shape)) + x.type.shape)
    return x if x.type.shape == shape else apply("broadcast_to", x, shape=shape)


def of_kind(name: str, x: core.Array, kinds: frozenset[str]) -> core.Array:
    """`x`, if its dtype is one of those. Raises `DtypeUnsupported`, which names the function."""
    if x.type.dtype in kinds:
        return x
    raise DtypeUnsupported(
        f"{name}() takes {dtypes.in_words(kinds)}, not {x.type.dtype}; nothing is converted"
        " silently. Cast first: x.astype(...)."
    )
