"""A graph with its gradients: each layer is noted with how its gradient is made, then backwards.

This is what autograd does while a model runs, done while a graph is built; the operators are those
that a capture of eager PyTorch gives, forward and backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opgraph.builder import GraphBuilder
from opgraph.catalogue.attributes import AttributeValue
from opgraph.graph import Graph
from opgraph.tensors import Shape

Backward = Callable[[Sequence["int | None"]], None]


class Tape:
    """Builds a graph; `gradients` adds what autograd would compute. Values are numbers."""

    def __init__(self) -> None:
        self.build = GraphBuilder()
        self.parameters: dict[str, int] = {}
        self.training = False
        """Whether gradients are wanted, and statistics of the batch are used."""
        self._found: dict[int, int] = {}
        self._notes: list[tuple[tuple[int, ...], Backward]] = []
        self._wanted: set[int] = set()

    def __call__(self, name: str, *operands: int, **attributes: AttributeValue) -> int:
        """Add a node with one result."""
        return self.build.apply(name, *operands, **attributes)

    def all(self, name: str, *operands: int, **attributes: AttributeValue) -> tuple[int, ...]:
        """Add a node; all its results."""
        return self.build.apply_all(name, operands, attributes)

    def shape(self, value: int) -> Shape:
        return self.build.type(value).shape

    def input(self, dtype: str, *shape: int) -> int:
        """A placeholder that no gradient is taken of."""
        return self.build.placeholder(f"i{self._placeholders()}", dtype, shape)

    def parameter(self, name: str, *shape: int) -> int:
        """A float32 placeholder with a gradient; `name` is PyTorch's."""
        value = self.build.placeholder(f"p{self._placeholders()}", "float32", shape)
        self.parameters[name] = value
        self._wanted.add(value)
        return value

    def _placeholders(self) -> int:
        return len(self.build.build().placeholders)

    # --- gradients --------------------------------------------------------------------------------
    def wants(self, value: int) -> bool:
        """Whether a gradient of that value is needed."""
        return value in self._wanted

    def note(self, results: Sequence[int], operands: Sequence[int], backward: Backward) -> None:
        """Remember how the gradients of `operands` come from those of `results`."""
        if self.training and any(map(self.wants, operands)):
            self._wanted.update(results)
            self._notes.append((tuple(results), backward))

    def give(self, value: int, gradient: int) -> None:
        """Add to the gradient of a value."""
        before = self._found.get(value)
        self._found[value] = gradient if before is None else self("add", before, gradient)

    def gradients(self, loss: int) -> list[int]:
        """The gradient of the scalar `loss` of each parameter, in order."""
        shape = self.shape(loss)
        self._found[loss] = self("full", shape=shape, value=1.0, dtype="float32")
        for results, backward in reversed(self._notes):
            given = [self._found.pop(each, None) for each in results]
            if any(each is not None for each in given):
                backward(given)
        return [self._found[each] for each in self.parameters.values()]

    def graph(self, *outputs: int) -> Graph:
        return self.build.build(*outputs)
