"""Constants of a node: which kinds there are, and what each of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from opgraph.tensors import DTYPES

if TYPE_CHECKING:
    from opgraph.graph import Graph

AttributeValue: TypeAlias = "int | float | bool | str | tuple[int, ...] | tuple[str, ...] | Graph"
AttributeKind: TypeAlias = Literal[
    "integer", "integers", "float", "boolean", "dtype", "choice", "words", "graph"
]
Attributes: TypeAlias = Mapping[str, AttributeValue]

INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1

LONGEST_LIST = 64
"""Of integers in an attribute: shape rules multiply them, and a long product takes for ever."""

MOST_WORDS = 1024
LONGEST_WORD = 32

_WANTED = {
    "integer": "an integer of 64 bits",
    "integers": f"a list of at most {LONGEST_LIST} integers of 64 bits",
    "float": "a float",
    "boolean": "true or false",
    "dtype": "a dtype",
    "words": f"a list of at most {MOST_WORDS} words of ASCII",
    "graph": "a graph",
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One constant of a node; `choices` are what one of the kind `choice` may be."""

    name: str
    kind: AttributeKind
    summary: str
    choices: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return f"one of {', '.join(self.choices)}" if self.choices else _WANTED[self.kind]

    def fits(self, value: Any) -> bool:
        """Whether it may have this value."""
        if self.kind == "choice":
            return isinstance(value, str) and value in self.choices
        return fits(self.kind, value)


def fits(kind: AttributeKind, value: Any) -> bool:
    """Whether a value is one of that kind of attribute, `choice` excepted."""
    if kind == "integers":
        return _is_list(value, LONGEST_LIST) and all(map(_is_integer, value))
    if kind == "words":
        return _is_list(value, MOST_WORDS) and all(map(_is_word, value))
    if kind == "integer":
        return _is_integer(value)
    if kind == "dtype":
        return isinstance(value, str) and value in DTYPES
    if kind == "graph":
        return hasattr(value, "placeholders") and hasattr(value, "nodes")
    return type(value) is (float if kind == "float" else bool)


def _is_list(value: Any, longest: int) -> bool:
    return isinstance(value, tuple) and len(value) <= longest


def _is_integer(value: Any) -> bool:
    return type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_WORD and value.isascii()


def integer(attributes: Attributes, name: str) -> int:
    """An attribute that was checked to be an integer."""
    return cast("int", attributes[name])


def integers(attributes: Attributes, name: str) -> tuple[int, ...]:
    """An attribute that was checked to be a list of integers."""
    return cast("tuple[int, ...]", attributes[name])


def number(attributes: Attributes, name: str) -> float:
    """An attribute that was checked to be a float."""
    return cast("float", attributes[name])


def flag(attributes: Attributes, name: str) -> bool:
    """An attribute that was checked to be true or false."""
    return attributes[name] is True


def word(attributes: Attributes, name: str) -> str:
    """An attribute that was checked to be a dtype or one of its choices."""
    return cast("str", attributes[name])
