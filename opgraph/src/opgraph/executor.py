"""Runs a graph on numpy, or on a module with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from opgraph.catalogue.declaration import Call, Operator
from opgraph.errors import ComputationError, ExecutionCancelled, InputError, MemoryShortage
from opgraph.graph import Graph
from opgraph.program import Program, Step
from opgraph.tensors import Array, TensorType, room, storage_dtype

Source: TypeAlias = Array | Callable[[], Array]


def execute(
    graph: Graph,
    inputs: Mapping[str, Source],
    *,
    xp: Any = numpy,
    threads: int = 1,
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
    out: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Run a valid graph; the outputs are arrays of `xp` that share memory with nothing else.

    `inputs` gives each placeholder's array, or a function that is called for it at its first use;
    an array is let go at its last use and never written to. `out` gives C-contiguous arrays of
    `xp` for some outputs, by position. `threads` is for BLAS. `progress(flops done, flops known)`
    is called after, `cancelled()` asked before each step and during long ones. The same graph,
    inputs, threads and machine give the same bits. Raises InputError, ExecutionCancelled,
    MemoryShortage, and ComputationError, which names the node, where the numbers do not allow what
    is asked.
    """
    run = _Run(graph, graph.program, inputs, xp, out or {}, cancelled or _never)
    _keep_freed_memory()
    with _controller().limit(limits=threads, user_api="blas"), numpy.errstate(all="ignore"):
        run.all_steps(progress or _unheard)
    return run.outputs()


def run_body(
    graph: Graph, values: Sequence[Array], xp: Any, check: Callable[[], None]
) -> list[Array]:
    """Run a graph within a run, on the values of its placeholders; `check` raises to end it."""

    def cancelled() -> bool:
        check()
        return False

    inputs = {each.name: value for each, value in zip(graph.placeholders, values, strict=True)}
    run = _Run(graph, graph.program, inputs, xp, {}, cancelled)
    run.all_steps(_unheard)
    return run.outputs()


def _never() -> bool:
    return False


def _unheard(_done: int, _known: int) -> None:
    pass


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded BLAS libraries takes milliseconds, so once.
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB that are freed, where it is glibc.

    A run takes what the one before gave back, and pages that the system has to hand out anew cost
    more than most operators. glibc raises both limits to what was freed last, 32 MiB at most, and
    twice that (mallopt(3), M_MMAP_THRESHOLD); nothing is written, so nothing is taken either.
    """
    numpy.empty((32 << 20) - (64 << 10), numpy.uint8)


class _Run:
    def __init__(
        self,
        graph: Graph,
        program: Program,
        inputs: Mapping[str, Source],
        xp: Any,
        out: Mapping[int, Array],
        cancelled: Callable[[], bool],
    ) -> None:
        self.names = [each.name for each in graph.placeholders]
        self.program = program
        self.inputs = inputs
        self.xp = xp
        self.on_gpu = hasattr(xp, "cuda")
        self.out = out
        self.cancelled = cancelled
        self.values: dict[int, Array] = {}
        self.scratch = xp.empty(0, dtype=xp.uint8)
        self._check_out(graph)

    def _check_out(self, graph: Graph) -> None:
        for position, array in self.out.items():
            if not 0 <= position < len(graph.outputs):
                raise InputError("unknown_output", f"The graph has no output {position}.")
            _check(f"out[{position}]", array, graph.output_types[position])
            if not array.flags.c_contiguous:
                raise InputError("not_contiguous", f"out[{position}] is not C-contiguous.")

    def all_steps(self, progress: Callable[[int, int], None]) -> None:
        known = sum(step.flops for step in self.program.steps)
        done = 0
        for number, step in enumerate(self.program.steps):
            if self.cancelled():
                raise ExecutionCancelled
            try:
                self.one_step(step)
            except ComputationError as error:
                name = step.operator.name if step.operator else "copy"
                raise ComputationError(
                    error.code,
                    f"Node {number} ({name}): {error.message}",
                    (number, *error.path),
                    error.reason,
                ) from None
            except MemoryShortage:
                raise  # of a node within this one
            except MemoryError:
                raise _shortage(number, step) from None
            if self.on_gpu:
                # It only queues what it is told; without this, progress would be announced for
                # work that has not begun, and a cancelled queue would run on.
                self.xp.cuda.get_current_stream().synchronize()
            done += step.flops
            progress(done, known)

    def _check(self) -> None:
        if self.cancelled():
            raise ExecutionCancelled

    def outputs(self) -> list[Array]:
        return [
            self.out.get(position, self.values[value])
            for position, value in enumerate(self.program.outputs)
        ]

    def one_step(self, step: Step) -> None:
        values = self.values
        if self.scratch.nbytes != step.scratch:
            self._fit_scratch(step.scratch)
        for value in step.loads:
            values[value] = self._load(value)
        operands = [values[value] for value in step.operands]
        if step.operator is None:
            (copy,) = step.results
            values[copy] = self._room(copy)
            values[copy][...] = operands[0]
        elif step.operator.view is not None and step.shares is not None:
            values[step.results[0]] = step.operator.view(operands[step.shares], step.attributes)
        else:
            self._compute(step, step.operator, operands)
        for value in step.drops:
            values.pop(value, None)

    def _compute(self, step: Step, operator: Operator, operands: list[Array]) -> None:
        results = [self._room(value) for value in step.results[step.takes_over :]]
        if step.takes_over and step.shares is not None:
            results.insert(0, operands[step.shares])
        if operator.contiguous:
            operands = [each if each.flags.c_contiguous else each.copy() for each in operands]
        call = Call(
            self.xp, step.types, operands, step.attributes, results, self.scratch, self._check
        )
        operator.implementation(self.on_gpu)(call)
        self.values.update(zip(step.results, results, strict=True))

    def _room(self, value: int) -> Array:
        type_ = self.program.types[value]
        if self.out:
            position = self.program.stores[self.program.places[value].store].output
            if position is not None and position in self.out:
                return self.out[position].reshape(type_.shape)
        return room(self.xp, type_.shape, storage_dtype(type_.dtype))

    def _fit_scratch(self, nbytes: int) -> None:
        # Kept as long as the steps want just this size: a chain of products allocates it once.
        self.scratch = None
        self.scratch = room(self.xp, (nbytes,), numpy.uint8)

    def _load(self, value: int) -> Array:
        name = self.names[value]
        if name not in self.inputs:
            raise InputError("missing_input", f"There is no array for the placeholder {name}.")
        source = self.inputs[name]
        array = source() if callable(source) else source
        _check(name, array, self.program.types[value])
        return self.xp.ascontiguousarray(self.xp.asarray(array)).reshape(array.shape)


def _shortage(number: int, step: Step) -> MemoryShortage:
    # numpy and cupy have errors of their own here, with sizes in their sentences.
    name = step.operator.name if step.operator else "copy"
    return MemoryShortage(
        "out_of_memory", f"Node {number} ({name}) asked for more memory than there is."
    )


def _check(name: str, array: Array, type_: TensorType) -> None:
    wanted = storage_dtype(type_.dtype)
    if array.shape != type_.shape or array.dtype != wanted:
        raise InputError("wrong_array", f"{name} must be {type_}, not {array.dtype}{array.shape}.")
