"""Memory that is used again, and never while anything still refers to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy
import pytest

from goblin_labnode.buffers import SMALL_BYTES, Buffers
from goblin_wire.protocol import MIB


def address(array: numpy.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_comes_back() -> None:
    buffers = Buffers()
    array = buffers.array((1024, 512), numpy.float32)
    first = address(array)
    del array
    assert address(buffers.array((512, 1024), numpy.float32)) == first


@pytest.mark.parametrize(
    "view_of",
    [
        lambda array: array[3:5],
        lambda array: array.reshape(-1)[7:],
        lambda array: array.T,
        lambda array: array.view(numpy.uint8),
        lambda array: memoryview(array),
        lambda array: array.data.cast("B")[100:],
    ],
)
def test_a_view_keeps_the_memory(view_of: Callable[[numpy.ndarray], object]) -> None:
    buffers = Buffers()
    array = buffers.array((1024, 512), numpy.float32)
    first, view = address(array), view_of(array)
    del array
    other = buffers.array((1024, 512), numpy.float32)
    assert address(other) != first
    del view, other
    again = [buffers.array((1024, 512), numpy.float32) for _ in range(2)]
    assert first in {address(each) for each in again}


def test_idle_memory_is_bounded() -> None:
    buffers = Buffers(idle_bytes=4 * MIB)
    arrays = [buffers.array((2 * MIB,), numpy.uint8) for _ in range(5)]
    arrays.clear()
    assert buffers._held <= 4 * MIB
    huge = buffers.array((8 * MIB,), numpy.uint8)
    del huge
    assert buffers._held <= 4 * MIB


def test_small_and_empty_arrays() -> None:
    buffers = Buffers()
    assert buffers.array((0, 5), numpy.float64).shape == (0, 5)
    assert buffers.array((SMALL_BYTES - 1,), numpy.uint8).size == SMALL_BYTES - 1
    assert buffers._held == 0


def test_threads_never_share_memory() -> None:
    buffers = Buffers()
    failures: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            array = buffers.array((MIB,), numpy.uint8)
            array[:] = number
            if not (array[::4096] == number).all():
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
