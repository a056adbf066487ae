"""What opgraph raises. Every error has a code for programs and a sentence for people."""

from __future__ import annotations

from typing import Any


class OpgraphError(Exception):
    """A computation could not be described, planned or run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[OpgraphError], tuple[Any, ...]]:
        return type(self), (self.code, self.message)


class GraphError(OpgraphError):
    """The graph is not one that this catalogue accepts."""


class FormError(GraphError):
    """The bytes are not the canonical form of a graph."""


class LimitError(GraphError):
    """The graph is well formed but larger than the reader allows."""


class InputError(OpgraphError):
    """An array handed to the executor does not fit its place in the graph."""


class ComputationError(OpgraphError):
    """The numbers do not allow an operator: an index out of range, a division of integers by 0.

    The code and the sentence are the same on every machine for the same inputs. `path` are the
    numbers of the nodes, once a run knows them: that of the graph, and, where it repeats a body,
    that of the body, and so on. `reason` is the sentence without them.
    """

    def __init__(
        self, code: str, message: str, path: tuple[int, ...] = (), reason: str = ""
    ) -> None:
        super().__init__(code, message)
        self.path = path
        self.reason = reason or message

    @property
    def node(self) -> int | None:
        """The number of the node of the graph, once a run knows it."""
        return self.path[0] if self.path else None

    def __reduce__(self) -> tuple[type[OpgraphError], tuple[Any, ...]]:
        return type(self), (self.code, self.message, self.path, self.reason)


class MemoryShortage(OpgraphError, MemoryError):
    """There was not as much memory, of the processor or of the GPU, as a step asked for."""


class PlanError(OpgraphError):
    """The computation cannot be cut into pieces that the network can hold."""


class ExecutionCancelled(OpgraphError):
    """The caller asked the executor to stop."""

    def __init__(
        self, code: str = "cancelled", message: str = "The computation was cancelled."
    ) -> None:
        super().__init__(code, message)
