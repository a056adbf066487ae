"""Building definitions of fused operators out of primitive ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from opgraph.catalogue.attributes import Attributes
from opgraph.tensors import Shape, TensorType

if TYPE_CHECKING:
    from opgraph.builder import GraphBuilder
    from opgraph.catalogue.declaration import Reference


class Define:
    """A builder with the steps that definitions need again and again. Values are numbers."""

    def __init__(self, build: GraphBuilder) -> None:
        self.build = build

    def __call__(self, name: str, *operands: int, **attributes: object) -> int:
        return self.build.apply(name, *operands, **attributes)  # type: ignore[arg-type]

    def type(self, value: int) -> TensorType:
        return self.build.type(value)

    def number(self, value: float, like: int) -> int:
        """A number, spread to the type of another value."""
        of = self.type(like)
        return self("full", shape=of.shape, value=float(value), dtype=of.dtype)

    def along(self, value: int, axes: Sequence[int], shape: Shape) -> int:
        """A value whose axes are those of `shape` but for `axes`, spread over them."""
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        return self("broadcast_to", self("reshape", value, shape=kept), shape=shape)

    def vector(self, value: int, axis: int, shape: Shape) -> int:
        """A vector along one axis of `shape`, spread over all others."""
        others = [each for each in range(len(shape)) if each != axis]
        return self.along(value, others, shape)

    def total(self, value: int, axes: Sequence[int]) -> int:
        dtype = self.type(value).dtype
        return self("sum", value, axes=tuple(axes), keepdims=False, dtype=dtype)

    def mean(self, value: int, axes: Sequence[int]) -> int:
        return self("mean", value, axes=tuple(axes), keepdims=False)

    def scaled(self, value: int, factor: float) -> int:
        return self("multiply", value, self.number(factor, value))

    def plus(self, value: int, number: float) -> int:
        return self("add", value, self.number(number, value))

    def positive(self, value: int) -> int:
        """Where a value is above 0."""
        return self("greater", value, self.number(0.0, value))


Definition: TypeAlias = "Callable[[Define, Sequence[int], Attributes], int | tuple[int, ...]]"


def defined_by(definition: Definition) -> Reference:
    """The reference that a definition builds; one value is one result."""

    def reference(build: GraphBuilder, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
        made = definition(Define(build), values, given)
        return made if isinstance(made, tuple) else (made,)

    return reference
