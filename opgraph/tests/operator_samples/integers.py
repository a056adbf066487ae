"""Samples of operators on bits."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, elementwise, large


def shifted(draw: Draw, row: Row) -> Case:
    """Shifts by up to a little more than the width."""
    shape = draw.shape()
    most = 8 * numpy.dtype(row[1]).itemsize + 2
    return Case(row, (draw.numbers(row[0], shape), draw.few(row[1], shape, 0, most)))


def powers(draw: Draw, row: Row) -> Case:
    """Exponents of which most make the power wrap."""
    shape = draw.shape()
    return Case(row, (draw.numbers(row[0], shape), draw.few(row[1], shape, 0, 100)))


def large_power() -> Case:
    draw, shape = Draw(1), (512, 1024)
    return Case(("int32",) * 2, (draw.numbers("int32", shape), draw.few("int32", shape, 0, 9)))


def large_shift() -> Case:
    draw, shape = Draw(1), (512, 1024)
    return Case(("int32",) * 2, (draw.numbers("int32", shape), draw.few("int32", shape, 0, 31)))


def shift_right(left: Any, right: Any) -> Any:
    return numpy.frompyfunc(lambda a, b: a >> b, 2, 1)(left, right)


def shift_left(left: Any, right: Any) -> Any:
    return numpy.frompyfunc(lambda a, b: a << b, 2, 1)(left, right)


def inverted(operand: Any) -> Any:
    return ~operand if operand.dtype == bool else -operand - 1


def ones(operand: Any) -> Any:
    """Of numbers that are not negative; negative ones are among the edges."""
    return numpy.frompyfunc(lambda number: int(number).bit_count(), 1, 1)(operand)


def not_negative(draw: Draw, row: Row) -> Case:
    array = draw.numbers(row[0], draw.shape())
    return Case(
        row, (abs(array) if row[0].startswith("uint") else array & numpy.iinfo(row[0]).max,)
    )


SAMPLES = {
    "bitwise_and": Sample(elementwise(), operator.and_, large("int32", 2)),
    "bitwise_or": Sample(elementwise(), operator.or_, large("int32", 2)),
    "bitwise_xor": Sample(elementwise(), operator.xor, large("int32", 2)),
    "bitwise_invert": Sample(elementwise(), inverted, large("int32")),
    "bitwise_left_shift": Sample(
        shifted,
        shift_left,
        large_shift,
        edges=((case("int8", [1, 1, -1], [7, 8, 100]), ([-128, 0, 0],)),),
    ),
    "bitwise_right_shift": Sample(
        shifted,
        shift_right,
        large_shift,
        edges=(
            (case("int8", [-128, -1, 127], [7, 100, 8]), ([-1, -1, 0],)),
            (case("uint16", [65535, 65535], [15, 16]), ([1, 0],)),
        ),
    ),
    "count_bits": Sample(
        not_negative,
        ones,
        large("int32"),
        edges=(
            (case("int8", [-1, -128, 0]), ([8, 1, 0],)),
            (case("int64", [-1, -(2**63)]), ([64, 1],)),
            (case("uint64", [2**63]), ([1],)),
        ),
    ),
    "integer_power": Sample(
        powers,
        operator.pow,
        large_power,
        edges=(
            (case("int8", [0, 2, -2, -1], [0, 7, 7, 127]), ([1, -128, -128, -1],)),
            (case("uint64", [3, 2], [64, 64]), ([3**64 % 2**64, 0],)),
        ),
    ),
    "gcd": Sample(
        elementwise(),
        lambda left, right: numpy.frompyfunc(math.gcd, 2, 1)(left, right),
        large("int32", 2),
        edges=((case("int32", [0, -4, 6], [0, 6, 0]), ([0, 2, 6],)),),
    ),
}
