"""Whether what we compute is what array-api-strict and numpy compute, and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy

from gpugoblin import Array, xp

Arrays = tuple[numpy.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Tolerance:
    """How far floats may be apart, in units of the last place of `scale`; integers: not at all.

    `scale` gives the magnitude that errors are relative to, from the reference result and the
    arguments; `reason` says where the number comes from.
    """

    ulps: float
    reason: str
    scale: Callable[[Any, tuple[Any, ...]], Any] | None = None


EXACT = Tolerance(0, "IEEE 754 rounds it in one way; or nothing is rounded")
ROUNDED = Tolerance(
    16, "each of the two libraries may be off by the 4 (powers: 8) ulp of the operator's contract"
)


def largest(arguments: tuple[Any, ...]) -> float:
    """The largest magnitude among the finite numbers of the arguments; at least 1."""
    found = 1.0
    for each in arguments:
        if isinstance(each, numpy.ndarray) and each.size and each.dtype.kind == "f":
            finite = numpy.abs(each[numpy.isfinite(each)].astype(numpy.float64))
            found = max(found, float(finite.max(initial=0.0)))
    return found


def terms(arguments: tuple[Any, ...]) -> int:
    """Elements of the largest argument: more are never added."""
    return max(each.size for each in arguments if isinstance(each, numpy.ndarray)) or 1


ADDED = Tolerance(
    4,
    "n additions in any order, n u sum |x| each (Higham, section 4.2); n max |x| is above the sum",
    lambda _result, arguments: terms(arguments) ** 2 * largest(arguments),
)
PRODUCTS = Tolerance(
    4,
    "n products added in any order: n u sum |x| |y|, which n max |x| max |y| is above",
    lambda _result, arguments: terms(arguments) ** 2 * largest(arguments) ** 2,
)
SQUARES = Tolerance(
    8,
    "two passes: 3 n u (var + std mean |x|), which n max |x|^2 is above",
    lambda _result, arguments: terms(arguments) ** 2 * largest(arguments) ** 2,
)
MULTIPLIED = Tolerance(
    4,
    "n products in any order: n u |result|",
    lambda result, arguments: terms(arguments) * numpy.abs(result),
)
ROOT = Tolerance(
    2.0**27,
    "the root of what was added up to n u max |x|^2: half of the digits where that is near 0",
    lambda _result, arguments: terms(arguments) * largest(arguments),
)
SOLVED = Tolerance(
    64,
    "the matrices are dominated by their diagonals, so their condition is below 64",
    lambda result, _arguments: 16 * max(1.0, float(numpy.abs(result).max(initial=0.0))),
)


def unpacked(result: Any) -> tuple[Any, ...]:
    """The results of a function as a tuple: arrays as numpy's, everything else as it is."""
    if isinstance(result, tuple | list):
        return tuple(each for part in result for each in unpacked(part))
    if isinstance(result, Array):
        return (result.compute(),)
    if isinstance(result, array_api_strict._array_object.Array):
        return (numpy.asarray(result),)
    if isinstance(result, numpy.ndarray | numpy.generic):
        return (numpy.asarray(result),)
    return (_plain(result),)


def _plain(result: Any) -> Any:
    """Element types by their names, and what `finfo` and `iinfo` tell, as dicts."""
    if isinstance(result, numpy.dtype | array_api_strict._dtypes.DType):
        return str(result).rpartition(".")[2]
    if all(hasattr(result, name) for name in ("bits", "max", "min", "dtype")):
        names = ("bits", "eps", "max", "min", "smallest_normal")
        return {name: float(getattr(result, name)) for name in names if hasattr(result, name)}
    return result


def difference(ours: Any, theirs: Any, tolerance: Tolerance, arguments: tuple[Any, ...]) -> str:
    """What is wrong with one result, or nothing."""
    if not isinstance(theirs, numpy.ndarray):
        return "" if ours == theirs else f"{ours!r}, not {theirs!r}"
    if not isinstance(ours, numpy.ndarray):
        return f"{ours!r} is no array"
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return f"{ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
    if tolerance is EXACT or theirs.dtype.kind != "f":
        same = numpy.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f")
        return "" if same else f"{ours!r}, not {theirs!r}"
    return _apart(ours, theirs, tolerance, arguments)


def _apart(
    ours: numpy.ndarray[Any, Any],
    theirs: numpy.ndarray[Any, Any],
    tolerance: Tolerance,
    arguments: tuple[Any, ...],
) -> str:
    with numpy.errstate(all="ignore"):
        scale = tolerance.scale(theirs, arguments) if tolerance.scale else numpy.abs(theirs)
        info = numpy.finfo(theirs.dtype)
        room = tolerance.ulps * float(info.eps) * scale + float(info.smallest_normal)
        apart = numpy.abs(ours.astype(numpy.float64) - theirs.astype(numpy.float64))
        same = (ours == theirs) | (numpy.isnan(ours) & numpy.isnan(theirs))
        near = numpy.isfinite(theirs) & numpy.isfinite(ours) & (apart <= room)
    if numpy.all(same | near):
        return ""
    return f"{ours!r}, not {theirs!r}, within {tolerance.ulps:g} ulp"


def our_function(name: str) -> Any:
    """A function of `gpugoblin.xp`; `linalg.NAME` for the extension's."""
    return _within(xp, name)


def strict_function(name: str) -> Any:
    """The same of array-api-strict."""
    return _within(array_api_strict, name)


def numpy_function(name: str) -> Any:
    """The same of numpy, or None."""
    try:
        return _within(numpy, name)
    except AttributeError:
        return None


def _within(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace
