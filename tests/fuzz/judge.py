"""What may happen to a graph that somebody sends: a refusal with a code, or right results.

Everything else is raised as `Fault`: another exception, a result that is not what was declared,
more memory than the model says, more time than a case may take.
"""

from __future__ import annotations

import re
import signal
import tracemalloc
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy

from opgraph.cost import flops
from opgraph.errors import ComputationError, GraphError, OpgraphError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.tensors import storage_dtype
from tests.fuzz.values import extremes

READ_SECONDS = 2.0
RUN_SECONDS = 5.0
"""Of processor time, ten times and more of what any of these takes on a slow machine."""
MOST_BYTES = 1 << 26
MOST_FLOPS = 1 << 25
MOST_STEPS = 2_000
SMALL = 1 << 18
"""Bytes of the process and of libraries' buffers, which do not grow with the tensors."""
_CODE = re.compile(r"[a-z][a-z0-9_]{2,40}", re.ASCII)


class Fault(AssertionError):
    """What must not happen."""


def judge(data: bytes, seed: int) -> str:
    """Read, validate and, where it is small, run a graph on extreme inputs; what happened, in a
    word. Raises Fault."""
    with limited(READ_SECONDS):
        try:
            graph = Graph.from_bytes(data)
        except GraphError as refusal:
            return f"refused: {_checked(refusal).code}"
        if graph.to_bytes() != data:
            raise Fault("Bytes that were read are written otherwise.")
        if not is_small(graph):
            return "valid, but too large to run here"
    return run(graph, seed)


def run(graph: Graph, seed: int) -> str:
    """Run a valid graph on inputs that follow from the seed. Raises Fault."""
    inputs = extremes(graph, seed)
    kept = {name: array.tobytes() for name, array in inputs.items()}
    with limited(RUN_SECONDS):
        try:
            results, measured = _measured(graph, inputs)
        except ComputationError as error:
            return f"error of the numbers: {_checked(error).code}"
    _check_results(graph, results)
    allowed = peak_bytes(graph) + SMALL + 4_000 * len(graph.nodes)
    if measured > allowed:
        raise Fault(f"{measured} bytes were needed; the model says {allowed}.")
    if any(inputs[name].tobytes() != before for name, before in kept.items()):
        raise Fault("An input was written to.")
    return "right"


def is_small(graph: Graph) -> bool:
    """Whether a case may be run: as admission does, by the models."""
    return (
        peak_bytes(graph) <= MOST_BYTES
        and flops(graph) <= MOST_FLOPS
        and _steps(graph) <= MOST_STEPS
    )


def _steps(graph: Graph) -> int:
    from opgraph.catalogue.control import steps

    return steps(graph)


def _measured(graph: Graph, inputs: Mapping[str, Any]) -> tuple[list[Any], int]:
    # The first use of a kernel of a library, and the program, are no memory of the graph's.
    factories = {name: array.copy for name, array in inputs.items()}
    execute(graph, factories)
    tracemalloc.start()
    try:
        results = execute(graph, factories)
        return results, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _check_results(graph: Graph, results: list[Any]) -> None:
    if len(results) != len(graph.outputs):
        raise Fault("Another number of outputs than declared.")
    for position, (result, type_) in enumerate(zip(results, graph.output_types, strict=True)):
        if not isinstance(result, numpy.ndarray):
            raise Fault(f"Output {position} is a {type(result).__name__}.")
        if result.shape != type_.shape or result.dtype != storage_dtype(type_.dtype):
            raise Fault(f"Output {position} is {result.dtype}{result.shape}, declared {type_}.")
        if type_.dtype == "bool" and (result.view(numpy.uint8) > 1).any():
            raise Fault(f"Output {position} holds a boolean that is neither 0 nor 1.")


def _checked(error: OpgraphError) -> OpgraphError:
    if not _CODE.fullmatch(error.code) or not 0 < len(error.message) < 500:
        raise Fault(f"A refusal without code and sentence: {error!r}")
    return error


class _TooLong(BaseException):
    """Not to be caught by any handler on the way."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what takes longer, in processor time of this process. Raises Fault."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except _TooLong:
        raise Fault(f"It took more than {seconds} s.") from None
    except MemoryError:
        raise Fault("It asked for more memory than there is.") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
