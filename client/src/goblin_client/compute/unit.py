"""Computing one unit: inputs are mapped as they arrive, outputs are written when they are whole."""

from __future__ import annotations

import mmap
import time
import weakref
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_client.compute.backends import Backend, Cpu
from goblin_client.compute.messages import ArrayFile, Begin, Finished
from goblin_client.compute.outputs import OutputMemory, reserve_room, write_output
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.tensors import TensorType, storage_dtype

PROGRESS_S = 0.5


@lru_cache(maxsize=8)
def _read_graph(path: str) -> Graph:
    return Graph.from_bytes(Path(path).read_bytes())


class InputMissing(Exception):
    """The file of an input is gone."""


class UnitRun:
    """One unit on one device.

    `wait_for(index)` returns when the input of that index is there (or raises), `cancelled()`
    tells to stop, `progress(share)` and `released(index)` are told on the way.
    """

    def __init__(
        self,
        order: Begin,
        backend: Backend,
        threads: int,
        memory: OutputMemory,
        *,
        wait_for: Callable[[int], None],
        cancelled: Callable[[], bool],
        progress: Callable[[float], None],
        released: Callable[[int], None],
    ) -> None:
        self._order = order
        self._backend = backend
        self._threads = threads
        self._memory = memory
        self._wait_for = wait_for
        self._cancelled = cancelled
        self._progress = progress
        self._released = released
        self._waited = 0.0
        self._told = time.monotonic()

    def run(self) -> Finished:
        """Compute, write, digest. Raises what the executor raises."""
        began = time.perf_counter()
        graph = _read_graph(self._order.graph)
        for file in self._order.outputs:
            reserve_room(file)
        outputs = self._memory.arrays(self._order.outputs)
        direct = isinstance(self._backend, Cpu)
        made = execute(
            graph,
            {each.name: self._source(place) for place, each in enumerate(graph.placeholders)},
            xp=self._backend.xp,
            threads=self._threads,
            cancelled=self._cancelled,
            progress=self._tell,
            out=dict(enumerate(outputs)) if direct else None,
        )
        for array, output in zip(made, outputs, strict=True):
            self._backend.store(array, output)
        key = bytes.fromhex(self._order.key)
        return Finished(
            lease=self._order.lease,
            digests=[
                write_output(file, array, key)
                for file, array in zip(self._order.outputs, outputs, strict=True)
            ],
            sizes=[output.nbytes for output in outputs],
            seconds=max(0.0, time.perf_counter() - began - self._waited),
        )

    def _source(self, place: int) -> Callable[[], Any]:
        def load() -> Any:
            began = time.perf_counter()
            self._wait_for(place)
            self._waited += time.perf_counter() - began
            try:
                array = _input(self._order.inputs[place])
            except (FileNotFoundError, ValueError):
                raise InputMissing from None
            weakref.finalize(array, self._released, place)
            return self._backend.load(array)

        return load

    def _tell(self, done: int, known: int) -> None:
        now = time.monotonic()
        if now - self._told >= PROGRESS_S:
            self._told = now
            self._progress(done / known if known else 1.0)


def _input(file: ArrayFile) -> NDArray[numpy.generic]:
    dtype, shape = storage_dtype(file.dtype), tuple(file.shape)
    size = TensorType(file.dtype, shape).nbytes
    if size == 0:
        return numpy.empty(shape, dtype=dtype)
    with Path(file.path).open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ)
    return numpy.frombuffer(mapped, dtype=dtype).reshape(shape)
