"""One question: arguments made by hypothesis, put to three libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import array_api_strict
import numpy

from gpugoblin import local, xp
from tests.conformance.array_api import comparison
from tests.conformance.array_api.comparison import EXACT, Tolerance
from tests.conformance.array_api.values import Draw


class Call(NamedTuple):
    """Arguments of a function; numpy arrays stand for arrays of whichever library is asked."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = {}


class Type(str):
    """The name of an element type, which each library has as an object of its own."""

    __slots__ = ()


@dataclass(frozen=True)
class Question:
    """How arguments are made, and how far results may be apart.

    `values` is false where the standard leaves the numbers open: shapes and types are compared.
    """

    make: Callable[[Draw], Call]
    tolerance: Tolerance = EXACT
    values: bool = True
    references: tuple[str, ...] = field(default=("array-api-strict", "numpy"))


class Unasked(Exception):
    """The library does not take these arguments."""


def answers(name: str, question: Question, call: Call) -> list[str]:
    """What is wrong with our answer, by each library that takes the arguments; none: nothing.

    Raises `Unasked` where no library does.
    """
    ours = comparison.unpacked(
        comparison.our_function(name)(*_for(_OURS, call.args), **_named(_OURS, call.kwargs))
    )
    asked, faults = 0, []
    for library in question.references:
        try:
            theirs = _reference(library, name, call)
        except Unasked:
            continue
        asked += 1
        faults += [
            f"{library}: {fault}" for fault in _faults(ours, theirs, question, call) if fault
        ]
    if not asked:
        raise Unasked(f"{name} of {call}")
    return faults


def _faults(
    ours: tuple[Any, ...], theirs: tuple[Any, ...], question: Question, call: Call
) -> list[str]:
    if len(ours) != len(theirs):
        return [f"{len(ours)} results, not {len(theirs)}"]
    if not question.values:
        return [
            ""
            if (one.shape, one.dtype) == (other.shape, other.dtype)
            else f"{one!r}, not {other!r}"
            for one, other in zip(ours, theirs, strict=True)
        ]
    return [
        comparison.difference(one, other, question.tolerance, _flat(call.args))
        for one, other in zip(ours, theirs, strict=True)
    ]


def _flat(arguments: Any) -> tuple[Any, ...]:
    if isinstance(arguments, tuple | list):
        return tuple(each for part in arguments for each in _flat(part))
    return (arguments,)


class _Library(NamedTuple):
    array: Callable[[Any], Any]
    namespace: Any


_OURS = _Library(local.array, xp)
_STRICT = _Library(array_api_strict.asarray, array_api_strict)
_NUMPY = _Library(lambda x: x, numpy)


def _reference(library: str, name: str, call: Call) -> tuple[Any, ...]:
    strict = library == "array-api-strict"
    function = comparison.strict_function(name) if strict else comparison.numpy_function(name)
    if function is None:
        raise Unasked
    own = _STRICT if strict else _NUMPY
    try:
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return comparison.unpacked(function(*_for(own, call.args), **_named(own, call.kwargs)))
    except TypeError:  # A dtype or an argument that this library does not have.
        raise Unasked from None


def _for(library: _Library, value: Any) -> Any:
    if isinstance(value, Type):
        return getattr(library.namespace, value)
    if isinstance(value, numpy.ndarray):
        return library.array(value)
    if isinstance(value, tuple | list):
        return type(value)(_for(library, each) for each in value)
    return value


def _named(library: _Library, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _for(library, value) for name, value in kwargs.items()}
