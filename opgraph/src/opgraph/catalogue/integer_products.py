"""Exact products of integer matrices modulo 2^w by BLAS, which only knows floats.

numpy multiplies integers without BLAS, about a hundred times slower than float32. Here integers are
cut into digits so small that every sum of their products is an integer below 2^53, which float64
holds exactly (2^24 and float32 for the smallest). Order of summation, threads and fused
multiply-adds cannot change such a sum, so the bits are the same on every machine.

Digits are balanced: x = sum_i d_i 2^(22 i) with -2^21 <= d_i < 2^21, so that 2,048 products of two
of them stay within 2^53. Products of digits i and j count 2^(22 (i + j)), which is 0 modulo 2^w for
large ones: three products for 32 bits, six for 64; one where the numbers themselves are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product as pairs
from typing import Any

import numpy
from numpy.typing import NDArray

from opgraph.tensors import itemsize

DIGIT_BITS = 22
DEPTH = 2048
"""Products of digits in one sum: 2^21 2^21 2^11 = 2^53."""
EXACT, EXACT_SINGLE = 2**53, 2**24
SINGLE_DEPTH, LEAST_SINGLE_DEPTH = 1024, 256
"""Products in one float32: 2^7 2^7 2^10 = 2^24 of int8, 258 of uint8; below, float64 is faster."""
ROWS, COLUMNS = 512, 2048
"""Of the result at a time: what is lent for it does not grow beyond 51 MiB."""
FEW_COLUMNS, MOST_DIGITS = 256, 3
"""Of so few columns all digits are held at once, so that those of the left are taken once each."""
STRIP = 1 << 15
"""Elements that are converted at a time: 256 KiB stay in the processor's cache."""
SHORTEST, SMALLEST = 32, 1 << 18
"""Rows, columns and terms, and products of elements, below which numpy's own loops are as fast."""

Array = NDArray[Any]


def is_worth_it(m: int, k: int, n: int) -> bool:
    """Whether an m x k by k x n product is made here rather than by numpy's own loops."""
    return min(m, k, n) >= SHORTEST and m * k * n >= SMALLEST


def product_scratch(m: int, k: int, n: int) -> int:
    """Bytes that `add_product` wants lent; grows with each of m, k and n."""
    return 8 * sum(_words(m, k, n))


def _words(m: int, k: int, n: int) -> tuple[int, int, int, int]:
    """Elements of 8 bytes: for digits of the left and of the right, for sums, for conversion."""
    rows, depth, columns = min(m, ROWS), min(k, DEPTH), min(n, COLUMNS)
    held = depth * max(columns, MOST_DIGITS * min(n, FEW_COLUMNS))
    return rows * depth, held, rows * columns, max(STRIP, depth, columns)


def add_product(
    result: Array, left: Array, right: Array, scratch: Array, check: Callable[[], None]
) -> None:
    """result += left @ right, modulo 2^w; all of one integer dtype.

    `scratch`: flat uint8 array of `product_scratch` bytes. `check` is asked between blocks.
    """
    (m, k), n = left.shape, right.shape[1]
    largest = _largest(left), _largest(right)
    room = _Room(scratch, m, k, n)
    width = 8 * itemsize(result.dtype.name)
    for depth, columns in pairs(_spans(k, room.depth), _spans(n, room.columns)):
        block = _Block(result[:, columns], left[:, depth], right[depth, columns], room, check)
        block.add(*largest, width)


class _Room:
    """What is lent, as arrays of 8-byte elements."""

    def __init__(self, scratch: Array, m: int, k: int, n: int) -> None:
        self.rows, self.depth, self.columns = min(m, ROWS), min(k, DEPTH), min(n, COLUMNS)
        ends = numpy.cumsum(_words(m, k, n))
        words = scratch.view(numpy.float64)[: ends[-1]]
        self.left, self.right, self.partial, strip = numpy.split(words, ends[:-1])
        self.strip = strip.view(numpy.int64)


class _Block:
    """Some columns of the result and a depth that one sum may have."""

    def __init__(
        self, result: Array, left: Array, right: Array, room: _Room, check: Callable[[], None]
    ) -> None:
        self.result, self.left, self.right = result, left, right
        self.room, self.check = room, check

    def add(self, largest_left: int, largest_right: int, width: int) -> None:
        """Add the product; `largest`: bounds on the sizes of the elements."""
        bound = largest_left * largest_right
        depth = self.left.shape[1]
        single = EXACT_SINGLE // max(1, bound)
        if single >= min(depth, LEAST_SINGLE_DEPTH):
            for part in _spans(depth, min(single, SINGLE_DEPTH)):
                self._add_small(part, numpy.float32)
        elif bound * depth <= EXACT:
            self._add_small(slice(0, depth), numpy.float64)
        else:
            self._add_digits(_digits(largest_left, width), _digits(largest_right, width), width)

    def _add_small(self, part: slice, kind: type[numpy.floating[Any]]) -> None:
        right = _shaped(self.room.right, self.right[part].shape, kind)
        numpy.copyto(right, self.right[part], casting="unsafe")
        for rows in _spans(len(self.left), self.room.rows):
            left = _shaped(self.room.left, self.left[rows, part].shape, kind)
            numpy.copyto(left, self.left[rows, part], casting="unsafe")
            self._add_sums(rows, left, right, 0)

    def _add_digits(self, of_left: int, of_right: int, width: int) -> None:
        at_once = min(of_right, len(self.room.right) // self.right.size)
        for first in range(0, of_right, at_once):
            digits = range(first, min(first + at_once, of_right))
            rights = self._digits_of_right(digits)
            for rows in _spans(len(self.left), self.room.rows):
                left = _shaped(self.room.left, self.left[rows].shape, numpy.float64)
                for i in range(of_left):
                    if DIGIT_BITS * (i + first) < width:
                        _take_digit(self.left[rows], i, left, self.room.strip)
                    for j, right in zip(digits, rights, strict=True):
                        shift = DIGIT_BITS * (i + j)
                        if shift < width:
                            self._add_sums(rows, left, right, shift)

    def _digits_of_right(self, digits: range) -> list[Array]:
        found = []
        for place, digit in enumerate(digits):
            words = self.room.right[place * self.right.size :]
            right = _shaped(words, self.right.shape, numpy.float64)
            _take_digit(self.right, digit, right, self.room.strip)
            found.append(right)
        return found

    def _add_sums(self, rows: slice, left: Array, right: Array, shift: int) -> None:
        self.check()
        sums = _shaped(self.room.partial, (len(left), right.shape[1]), left.dtype.type)
        numpy.matmul(left, right, out=sums)
        result = self.result[rows]
        for part, strip in _strips(sums.shape, self.room.strip):
            numpy.copyto(strip, sums[part], casting="unsafe")
            if shift:
                numpy.left_shift(strip, shift, out=strip)
            whole = strip.view(numpy.uint64) if result.dtype == numpy.uint64 else strip
            numpy.add(result[part], whole, out=result[part], casting="unsafe")


def _take_digit(source: Array, number: int, out: Array, strips: Array) -> None:
    """Digit `number` of every element, as float64."""
    half = 1 << (DIGIT_BITS - 1)
    carry = sum(half << (DIGIT_BITS * each) for each in range(number + 1)) % 2**64
    for part, strip in _strips(source.shape, strips):
        words = strip.view(numpy.uint64)
        numpy.copyto(strip, source[part], casting="unsafe")
        numpy.add(words, numpy.uint64(carry), out=words)
        numpy.right_shift(words, numpy.uint64(DIGIT_BITS * number), out=words)
        numpy.bitwise_and(words, numpy.uint64(2 * half - 1), out=words)
        numpy.subtract(strip, half, out=out[part], casting="unsafe")


def _digits(largest: int, width: int) -> int:
    """How many digits elements of this size need, and no more than count modulo 2^width."""
    return min(-(-(largest.bit_length() + 2) // DIGIT_BITS), -(-width // DIGIT_BITS))


def _largest(values: Array) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _strips(shape: tuple[int, ...], buffer: Array) -> Iterator[tuple[slice, Array]]:
    """Rows of a matrix of this shape at a time, each with a piece of the buffer for them."""
    step = max(1, len(buffer) // max(1, shape[1]))
    for rows in _spans(shape[0], step):
        count = rows.stop - rows.start
        yield rows, buffer[: count * shape[1]].reshape(count, shape[1])


def _shaped(words: Array, shape: tuple[int, ...], kind: Any) -> Array:
    shaped: Array = words.view(kind)[: shape[0] * shape[1]].reshape(shape)
    return shaped


def _spans(size: int, step: int) -> Iterator[slice]:
    for first in range(0, size, max(1, step)):
        yield slice(first, min(first + step, size))
