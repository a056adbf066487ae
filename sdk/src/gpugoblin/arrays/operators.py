"""Python's operators on lazy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy

import gpugoblin.array as core
import gpugoblin.arrays.elementwise as elementwise
import gpugoblin.arrays.indexing as indexing
import gpugoblin.arrays.setting as setting
from gpugoblin.errors import DtypeUnsupported, ShapeMismatch

if TYPE_CHECKING:
    from gpugoblin.array import Array

_TAKEN = bool | int | float | complex | numpy.ndarray | numpy.generic
Function = Callable[..., "Array"]
Method = Callable[["Operators", Any], "Array"]


def _forward(function: str) -> Method:
    return _method(lambda array, other: getattr(elementwise, function)(array, other))


def _reflected(function: str) -> Method:
    return _method(lambda array, other: getattr(elementwise, function)(other, array))


def _method(function: Function) -> Method:
    """The operator for what can be an operand; Python asks the other side about the rest."""

    def method(self: Operators, other: Any) -> Array:
        if not isinstance(other, core.Array | _TAKEN):
            return cast("Array", NotImplemented)
        return function(self, other)

    return method


def _in_place(function: str) -> Method:
    forward = _forward(function)

    def method(self: Operators, other: Any) -> Array:
        assert isinstance(self, core.Array)  # noqa: S101
        result = forward(self, other)
        if result is NotImplemented:
            return cast("Array", NotImplemented)
        if result.value.type != self.value.type:
            raise _changed(self, result)
        self.become(result)
        return self

    return method


def _changed(array: Array, result: Array) -> Exception:
    what = f"In place an array stays {array.value.type}, and the result is {result.value.type}"
    kind = ShapeMismatch if result.shape != array.shape else DtypeUnsupported
    return kind(f"{what}. Write x = x + y, or cast the other operand first.")


class Operators:
    """`+` and its like: each is the function of that name in `gpugoblin.xp`.

    Python numbers take the array's element type. In place (`x += y`) the array gets another value,
    of the same shape and type; arrays that were made from the old one keep it.
    """

    __slots__ = ()

    __add__, __radd__, __iadd__ = _forward("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__ = _forward("subtract"), _reflected("subtract")
    __isub__ = _in_place("subtract")
    __mul__, __rmul__ = _forward("multiply"), _reflected("multiply")
    __imul__ = _in_place("multiply")
    __truediv__, __rtruediv__ = _forward("divide"), _reflected("divide")
    __itruediv__ = _in_place("divide")
    __floordiv__, __rfloordiv__ = _forward("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__ = _forward("remainder"), _reflected("remainder")
    __imod__ = _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _forward("pow"), _reflected("pow"), _in_place("pow")
    __and__, __rand__ = _forward("bitwise_and"), _reflected("bitwise_and")
    __iand__ = _in_place("bitwise_and")
    __or__, __ror__ = _forward("bitwise_or"), _reflected("bitwise_or")
    __ior__ = _in_place("bitwise_or")
    __xor__, __rxor__ = _forward("bitwise_xor"), _reflected("bitwise_xor")
    __ixor__ = _in_place("bitwise_xor")
    __lshift__, __rlshift__ = _forward("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __ilshift__ = _in_place("bitwise_left_shift")
    __rshift__, __rrshift__ = _forward("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __irshift__ = _in_place("bitwise_right_shift")
    __lt__, __le__ = _forward("less"), _forward("less_equal")
    __gt__, __ge__ = _forward("greater"), _forward("greater_equal")

    def __eq__(self, other: object) -> Any:
        return _forward("equal")(self, other)

    def __ne__(self, other: object) -> Any:
        return _forward("not_equal")(self, other)

    # The identity: equality is an array, so a set of arrays is one of names.
    __hash__ = object.__hash__

    def __neg__(self: Any) -> Array:
        return elementwise.negative(self)

    def __pos__(self: Any) -> Array:
        return elementwise.positive(self)

    def __abs__(self: Any) -> Array:
        return elementwise.abs(self)

    def __invert__(self: Any) -> Array:
        return elementwise.bitwise_invert(self)

    def __getitem__(self: Any, key: Any) -> Array:
        """Part of the array; see `docs/arrays.md` for the keys that are taken."""
        return indexing.part(self, key)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        """Give this array a value in which a part is replaced; others keep what they have."""
        self.become(setting.with_part(self, key, value))


UFUNCS = {
    "power": "pow",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    **{
        name: name
        for name in (
            "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "bitwise_and",
            "bitwise_or", "bitwise_xor", "less", "less_equal", "greater", "greater_equal", "equal",
            "not_equal",
        )
    },
}  # fmt: skip
"""What numpy calls where one of its arrays is on the left of an operator -> our functions."""


def by_ufunc(ufunc: Any, inputs: tuple[Any, ...]) -> Array | None:
    """`numpy array + lazy array` and the like; None for functions that are no operator."""
    name = UFUNCS.get(ufunc.__name__)
    return getattr(elementwise, name)(*inputs) if name else None


__all__ = ["Operators", "by_ufunc"]
