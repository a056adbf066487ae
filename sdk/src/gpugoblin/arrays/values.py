"""What arrays are made of: immutable values in a functional graph.

An array is a name for a value. Setting items gives it another one; whatever was built with the
old one keeps that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from gpugoblin.arrays.origin import Line
from opgraph.catalogue.attributes import Attributes
from opgraph.tensors import TensorType

if TYPE_CHECKING:
    from gpugoblin.array import Array


class Leaf:
    """Numbers that exist already. `key` is equal for equal ones."""

    __slots__ = ("content", "key", "label")

    def __init__(self, key: str, label: str, content: NDArray[Any] | None = None) -> None:
        self.key = key
        self.label = label
        self.content = content


class Product:
    """`left @ right` of arrays at a lab or assumed, not computed."""

    __slots__ = ("left", "right")

    def __init__(self, left: Array, right: Array) -> None:
        self.left = left
        self.right = right

    @property
    def label(self) -> str:
        return " @ ".join(_bracketed(operand) for operand in (self.left, self.right))


class Application:
    """An operator of the catalogue applied to values; `line` is where the user wrote it.

    `inside` are the applications of a loop's body, in the order of its graph.
    """

    __slots__ = ("attributes", "inside", "line", "operands", "operator", "results")

    def __init__(
        self,
        operator: str,
        operands: tuple[Value, ...],
        attributes: Attributes,
        results: tuple[TensorType, ...],
        line: Line | None,
    ) -> None:
        self.operator = operator
        self.operands = operands
        self.attributes = attributes
        self.results = results
        self.line = line
        self.inside: Sequence[Application] = ()

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(str(each.type) for each in self.operands)})"


class Applied:
    """One result of an application. `kept`: its numbers, where they were computed on demand."""

    __slots__ = ("application", "kept", "position")

    def __init__(self, application: Application, position: int) -> None:
        self.application = application
        self.position = position
        self.kept: Leaf | None = None

    @property
    def label(self) -> str:
        """One word, or `a @ b`: what it is made of may be a million operations."""
        made = self.application
        if made.operator != "matmul":
            return made.operator
        return " @ ".join(
            each.source.label if isinstance(each.source, Leaf) else "(...)"
            for each in made.operands
        )


Source: TypeAlias = Leaf | Product | Applied


class Value(NamedTuple):
    """Where numbers come from, and their type."""

    source: Source
    type: TensorType


def leaf_of(value: Value) -> Leaf | None:
    """The numbers of a value, where they are there."""
    source = value.source
    if isinstance(source, Applied):
        return source.kept
    return source if isinstance(source, Leaf) else None


def _bracketed(operand: Array) -> str:
    label = operand.source.label
    return f"({label})" if isinstance(operand.source, Product) else label
