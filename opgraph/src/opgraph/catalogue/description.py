"""A declaration as plain values: what the command line, the documentation and the web page show."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from opgraph.catalogue.declaration import Operator
from opgraph.tensors import DTYPES, FLOATS, HALVES, INTEGERS

_ARROW, _UNKNOWN = "->", "T"
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("any dtype", DTYPES),
    ("floats", (*FLOATS, *HALVES)),
    ("float32 and float64", FLOATS),
    ("integers", INTEGERS),
)


def describe(operator: Operator) -> dict[str, Any]:
    """Name, signature, dtypes, rules and costs; every value is text or a list or dict of texts."""
    return {
        "name": operator.name,
        "version": operator.version,
        "family": operator.family,
        "signature": signature(operator),
        "summary": operator.summary,
        "operands": list(operator.operands),
        "attributes": {each.name: f"{each.wanted}: {each.summary}" for each in operator.attributes},
        "dtypes": dtypes(operator),
        "flops": operator.flops.summary,
        "error": operator.error.summary,
        "special_values": operator.special_values,
        "fused": operator.reference is not None,
    }


def signature(operator: Operator) -> str:
    """`name(operands; attributes)`."""
    operands = ", ".join(operator.operands) + ", ..." * operator.variadic
    attributes = ", ".join(each.name for each in operator.attributes)
    return f"{operator.name}({operands}{'; ' if attributes and operands else ''}{attributes})"


def dtypes(operator: Operator) -> list[str]:
    """The rows of the dtype table in words: rows that differ in one dtype only are one."""
    if not operator.dtypes:
        return ["as the body has them"]
    rows = [(*key, _ARROW, *results) for key, results in operator.dtypes.items()]
    patterns: dict[tuple[str, ...], list[str]] = {}
    while rows:
        pattern, found = max(_patterns(rows).items(), key=lambda each: len(each[1]))
        patterns[pattern] = found
        covered = {_filled(pattern, dtype) for dtype in found}
        rows = [row for row in rows if row not in covered]
    return [_words(pattern, found) for pattern, found in _merged(patterns)]


def _patterns(rows: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
    """Every way to see a row as a pattern in one unknown dtype, and which dtypes that one is."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        for dtype in dict.fromkeys(each for each in row if each != _ARROW):
            places = [place for place, each in enumerate(row) if each == dtype]
            # All places first: of two ways to see a row the one with more unknowns says more.
            for some in (c for n in range(len(places), 0, -1) for c in combinations(places, n)):
                pattern = tuple(
                    _UNKNOWN if place in some else each for place, each in enumerate(row)
                )
                found.setdefault(pattern, []).append(dtype)
    return found


def _filled(pattern: tuple[str, ...], dtype: str) -> tuple[str, ...]:
    return tuple(dtype if each == _UNKNOWN else each for each in pattern)


def _merged(
    patterns: dict[tuple[str, ...], list[str]],
) -> list[tuple[tuple[str, ...], list[str]]]:
    """Patterns for the same dtypes that differ in one place: that place says `this or that`."""
    merged: list[tuple[tuple[str, ...], list[str]]] = []
    for pattern, found in patterns.items():
        for number, (other, same) in enumerate(merged):
            places = [a != b for a, b in zip(pattern, other, strict=False)]
            if len(other) == len(pattern) and set(same) == set(found) and sum(places) == 1:
                where = places.index(True)
                either = f"{other[where]} or {pattern[where]}"
                merged[number] = ((*other[:where], either, *other[where + 1 :]), same)
                break
        else:
            merged.append((pattern, found))
    return merged


def _words(pattern: tuple[str, ...], found: list[str]) -> str:
    arrow = pattern.index(_ARROW)
    operands, results = pattern[:arrow], pattern[arrow + 1 :]
    if set(pattern) == {_UNKNOWN, _ARROW}:
        return _named(found)
    if len(found) == 1:
        operands, results = (_filled(part, found[0]) for part in (operands, results))
        return f"{', '.join(operands)} -> {', '.join(results)}"
    return f"{', '.join(operands)} -> {', '.join(results)} (T: {_named(found)})"


def _named(found: Iterable[str]) -> str:
    """Dtypes by the names of groups where a whole group is there."""
    left = set(found)
    words = []
    for name, group in _GROUPS:
        if left >= set(group):
            words.append(name)
            left -= set(group)
    return ", ".join([*words, *(each for each in DTYPES if each in left)])
