"""Arrays out of numbers, functions that move elements, and functions about element types."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import gpugoblin
from gpugoblin import errors, local, xp

MATRIX = numpy.arange(6.0).reshape(2, 3)


def agrees(lazy: Any, wanted: Any) -> None:
    assert (lazy.shape, lazy.dtype) == (wanted.shape, wanted.dtype)
    assert numpy.array_equal(lazy.compute(), wanted)


@pytest.mark.parametrize("obj", [1, 2.5, True, [], [1, 2], [[1.0], [2]], [True, False], (1, 2**62)])
def test_asarray_takes_numbers_and_lists(obj: Any) -> None:
    agrees(xp.asarray(obj), numpy.asarray(obj))
    agrees(local.asarray(obj, dtype=xp.float32), numpy.asarray(obj, "float32"))


def test_asarray_of_arrays_is_a_stack() -> None:
    x = xp.asarray([1, 2])
    agrees(xp.asarray([x, [x[1], 5]]), numpy.array([[1, 2], [2, 5]]))
    agrees(xp.asarray((x,), dtype=xp.int8), numpy.array([[1, 2]], "int8"))
    with pytest.raises(errors.ShapeMismatch, match="one shape"):
        xp.asarray([x, 1])


def test_large_whole_numbers_are_not_rounded() -> None:
    agrees(xp.asarray([2**63 + 1, 3], dtype=xp.uint64), numpy.array([2**63 + 1, 3], "uint64"))
    for large in ([2**63 + 1, 3], 2**63, [1, 2**70]):
        with pytest.raises(errors.BadArgument, match=r"int64|too large|too big"):
            xp.asarray(large)
    agrees(xp.asarray([1e30, 3]), numpy.array([1e30, 3.0]))
    agrees(xp.asarray([numpy.inf, 2**62]), numpy.array([numpy.inf, 2.0**62]))


def test_asarray_keeps_arrays_and_copies_when_asked() -> None:
    plain = numpy.zeros(3)
    shared, copied = xp.asarray(plain), xp.asarray(plain, copy=True)
    assert xp.asarray(shared) is shared
    plain[0] = 1.0
    agrees(shared, numpy.array([1.0, 0.0, 0.0]))
    agrees(copied, numpy.zeros(3))
    again = xp.asarray(shared, copy=True)
    again[1] = 5.0
    agrees(shared, numpy.array([1.0, 0.0, 0.0]))
    agrees(xp.asarray(shared, dtype=xp.int8), numpy.array([1, 0, 0], "int8"))
    agrees(xp.from_dlpack(plain), plain)
    assert xp.from_dlpack(shared) is shared
    agrees(xp.asarray(2**64 - 1, dtype=xp.uint64), numpy.asarray(2**64 - 1, "uint64"))


@pytest.mark.parametrize(
    ("obj", "dtype"),
    [
        ("a", None),
        (1j, None),
        ([[1], [1, 2]], None),
        (object(), None),
        (2**70, None),
        (300, "int8"),
        ([1, -1], "uint8"),
    ],
)
def test_what_is_no_array_is_refused(obj: Any, dtype: Any) -> None:
    with pytest.raises((errors.BadArgument, errors.DtypeUnsupported)):
        xp.asarray(obj, dtype=dtype)


def test_refusals_of_creation_say_what_to_do() -> None:
    with pytest.raises(errors.BadArgument, match="copy=False"):
        xp.asarray([1.0], copy=False)
    with pytest.raises(errors.BadArgument, match="'here', not 'gpu'"):
        xp.zeros(1, device="gpu")
    with pytest.raises(errors.BadArgument, match="no length is negative"):
        xp.zeros((2, -1))
    with pytest.raises(errors.DtypeUnsupported, match="real and imaginary"):
        xp.zeros(1, dtype=complex)
    with pytest.raises(errors.DtypeUnsupported, match="no element type"):
        xp.zeros(1, dtype="floaty")
    with pytest.raises(errors.BadArgument, match="give its numbers"):
        xp.from_dlpack(object())
    with pytest.raises(errors.TooLarge, match=r"17592186044416 float64 \(128 TiB\)"):
        xp.zeros(2**44)
    with pytest.raises(errors.TooLarge, match="17 axes"):
        xp.zeros((1,) * 17)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_constants_are_numpys(dtype: str) -> None:
    agrees(xp.zeros((2, 3), dtype=dtype), numpy.zeros((2, 3), dtype))
    agrees(xp.ones(4, dtype=dtype), numpy.ones(4, dtype))
    agrees(xp.full((2,), 1, dtype=dtype), numpy.full((2,), 1, dtype))
    agrees(xp.eye(3, 4, k=-1, dtype=dtype), numpy.eye(3, 4, k=-1, dtype=dtype))
    x = xp.ones((1, 2), dtype=dtype)
    agrees(xp.zeros_like(x), numpy.zeros((1, 2), dtype))
    agrees(xp.ones_like(x), numpy.ones((1, 2), dtype))
    agrees(xp.empty_like(x), numpy.zeros((1, 2), dtype))
    agrees(xp.full_like(x, 1, device=x.device), numpy.ones((1, 2), dtype))
    agrees(xp.empty((), dtype=dtype), numpy.zeros((), dtype))


def test_constants_take_no_memory_and_keep_their_bits() -> None:
    assert xp.zeros((2**20, 2**19)).size == 2**39
    agrees(xp.full((2,), True), numpy.full((2,), True))
    agrees(xp.full((2,), 7), numpy.full((2,), 7))
    value = xp.max(local.array(MATRIX))
    agrees(xp.full((2, 0), value), numpy.full((2, 0), 5.0))
    agrees(xp.full((2,), value, dtype=xp.int8), numpy.full((2,), 5, "int8"))
    agrees(xp.full_like(xp.ones(3), value), numpy.full(3, 5.0))
    with pytest.raises(errors.BadArgument, match="a Python number"):
        xp.full((2,), xp.ones(1))
    zeros = local.compute(xp.full((), 0.0), xp.full((), -0.0), xp.asarray([1.0]) * -0.0)
    assert [bool(numpy.signbit(each).all()) for each in zeros] == [False, True, True]
    x = xp.full((), 3.0)
    x[...] = 4.0
    agrees(xp.full((), 3.0), numpy.asarray(3.0))
    assert numpy.isnan(xp.full((), xp.nan).compute())


RANGES = [(5,), (2, 7), (7, 2, -2), (0, 10, 3), (5, 2), (0.0, 1.0, 0.25), (1, 0, -0.3), (-1.5, 2.5)]


@pytest.mark.parametrize("given", RANGES)
def test_ranges_are_numpys(given: tuple[Any, ...]) -> None:
    lazy, wanted = xp.arange(*given), numpy.arange(*given)
    assert (lazy.shape, lazy.dtype) == (wanted.shape, wanted.dtype)
    assert numpy.allclose(lazy.compute(), wanted, rtol=1e-15, atol=1e-15)


def test_ranges_that_cannot_be() -> None:
    agrees(xp.arange(3, dtype=xp.float32), numpy.arange(3, dtype="float32"))
    with pytest.raises(errors.BadArgument, match="no end"):
        xp.arange(0, 1, 0)
    with pytest.raises(errors.BadArgument, match="no end"):
        xp.arange(0, xp.inf)
    with pytest.raises(errors.BadArgument, match="int8 goes from -128"):
        xp.arange(300, dtype=xp.int8)
    with pytest.raises(errors.DtypeUnsupported, match="can't hold"):
        xp.arange(0.5, 3.5, dtype=xp.int64)


@pytest.mark.parametrize(("num", "endpoint"), [*itertools.product((0, 1, 2, 5), (True, False))])
def test_linspace_is_numpys(num: int, endpoint: bool) -> None:
    wanted = numpy.linspace(-1.0, 2.0, num, endpoint=endpoint)
    lazy = xp.linspace(-1.0, 2.0, num, endpoint=endpoint)
    assert lazy.shape == wanted.shape
    assert numpy.allclose(lazy.compute(), wanted, rtol=1e-15, atol=1e-15)
    if endpoint and num > 1:
        assert lazy[-1].compute() == 2.0


def test_triangles_and_grids_are_numpys() -> None:
    x = local.array(MATRIX)
    agrees(xp.tril(x, k=-1), numpy.tril(MATRIX, k=-1))
    agrees(xp.triu(x, k=1), numpy.triu(MATRIX, k=1))
    lines = [numpy.arange(2), numpy.arange(3), numpy.arange(4)]
    for indexing in ("xy", "ij"):
        made = xp.meshgrid(*map(local.array, lines), indexing=indexing)
        for lazy, wanted in zip(made, numpy.meshgrid(*lines, indexing=indexing), strict=True):
            agrees(lazy, wanted)
    agrees(xp.meshgrid(local.array(lines[0]))[0], lines[0])
    with pytest.raises(errors.ShapeMismatch, match="matrices"):
        xp.tril(xp.ones(3))
    with pytest.raises(errors.BadArgument, match="'xy' or 'ij'"):
        xp.meshgrid(xp.ones(1), indexing="ji")


def test_elements_move_as_in_numpy() -> None:
    x, cube = local.array(MATRIX), numpy.arange(24).reshape(2, 3, 4)
    y = local.array(cube)
    agrees(xp.reshape(x, (3, -1)), MATRIX.reshape(3, -1))
    agrees(xp.permute_dims(y, (2, 0, 1)), cube.transpose(2, 0, 1))
    agrees(xp.moveaxis(y, (0, -1), (-1, 0)), numpy.moveaxis(cube, (0, -1), (-1, 0)))
    agrees(xp.flip(y), numpy.flip(cube))
    agrees(xp.flip(y, axis=(0, -1)), numpy.flip(cube, axis=(0, -1)))
    agrees(xp.roll(y, 5), numpy.roll(cube, 5))
    agrees(xp.roll(y, (1, -1), axis=(0, 2)), numpy.roll(cube, (1, -1), axis=(0, 2)))
    agrees(xp.roll(y, 2, axis=1), numpy.roll(cube, 2, axis=1))
    agrees(xp.expand_dims(y, axis=(0, -1)), numpy.expand_dims(cube, axis=(0, -1)))
    agrees(xp.expand_dims(y, 1), numpy.expand_dims(cube, 1))
    agrees(xp.squeeze(y[:1], axis=0), cube[0])
    agrees(xp.repeat(y, 2, axis=1), numpy.repeat(cube, 2, axis=1))
    agrees(xp.repeat(x, 3), numpy.repeat(MATRIX, 3))
    agrees(xp.tile(x, (2, 1, 2)), numpy.tile(MATRIX, (2, 1, 2)))
    agrees(xp.tile(y, (2,)), numpy.tile(cube, (2,)))
    agrees(xp.concat([x, x], axis=-1), numpy.concatenate([MATRIX, MATRIX], axis=-1))
    agrees(xp.concat([x, x], axis=None), numpy.concatenate([MATRIX, MATRIX], axis=None))
    agrees(xp.stack([x, x], axis=1), numpy.stack([MATRIX, MATRIX], axis=1))
    agrees(xp.broadcast_to(x, (4, 2, 3)), numpy.broadcast_to(MATRIX, (4, 2, 3)))
    agrees(x.T, MATRIX.T)
    agrees(y.mT, cube.swapaxes(1, 2))
    for lazy, wanted in zip(xp.unstack(y, axis=1), numpy.unstack(cube, axis=1), strict=True):
        agrees(lazy, wanted)
    for lazy in xp.broadcast_arrays(x, x[0], x[:, :1]):
        assert lazy.shape == (2, 3)
    promoted = xp.concat([xp.ones(1, dtype=xp.int8), xp.ones(1, dtype=xp.uint8)])
    agrees(promoted, numpy.ones(2, "int16"))


WRONG: list[tuple[Any, str]] = [
    (lambda x: xp.reshape(x, (4,)), r"\(2, 3\) has 6 elements"),
    (lambda x: xp.reshape(x, (4, -1)), "6 elements have no form"),
    (lambda x: xp.reshape(x, (-1, -1)), "no form"),
    (lambda x: xp.squeeze(x, axis=0), "length 1"),
    (lambda x: xp.permute_dims(x, (0,)), "each axis"),
    (lambda x: xp.permute_dims(x, (0, 0)), "named twice"),
    (lambda x: xp.flip(x, axis=2), "axis=2: the array has 2 axes, from -2 to 1"),
    (lambda x: xp.stack([x, x[0]]), "one shape"),
    (lambda x: xp.concat([x, x.T]), "do not join"),
    (lambda x: xp.concat([x[0, 0]]), "stack"),
    (lambda x: xp.concat([]), "one array or more"),
    (lambda x: xp.broadcast_to(x, (2, 4)), r"\(2, 3\) does not broadcast to \(2, 4\)"),
    (lambda x: xp.moveaxis(x, (0, 1), 0), "equally many"),
    (lambda x: xp.roll(x, (1, 2, 3), axis=(0, 1)), "one shift"),
    (lambda x: xp.repeat(x, -1), "-1 times"),
    (lambda x: xp.tile(x, (1.5,)), "must be an integer, not float"),
    (lambda x: x[0].T, r"\(3,\): .T is of two axes"),
    (lambda x: x[0].mT, "two axes or more"),
    (lambda x: xp.expand_dims(x, axis=4), "axis=4"),
]


@pytest.mark.parametrize(("use", "match"), WRONG)
def test_wrong_arguments_are_refused_at_the_line(use: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        use(local.array(MATRIX))


def test_an_axis_that_is_not_there_is_both_of_numpys_errors() -> None:
    for kind in (ValueError, IndexError):
        with pytest.raises(kind, match="axis=3"):
            xp.expand_dims(xp.ones((1, 2)), axis=3)


def test_repeats_by_an_array_need_its_numbers() -> None:
    x, counts = local.array(MATRIX), numpy.array([2, 0, 1])
    agrees(xp.repeat(x, local.array(counts), axis=1), numpy.repeat(MATRIX, counts, axis=1))
    agrees(xp.repeat(x, xp.asarray([2]), axis=0), numpy.repeat(MATRIX, 2, axis=0))
    lazy = local.array(counts) + 0
    with pytest.raises(errors.NotComputed, match="length"):
        xp.repeat(x, lazy, axis=1)
    with local.on_demand():
        agrees(xp.repeat(x, lazy, axis=1), numpy.repeat(MATRIX, counts, axis=1))
    for dtype in (xp.uint64, xp.uint8, xp.int8):
        agrees(
            xp.repeat(x, xp.asarray(counts.tolist(), dtype=dtype), axis=1),
            numpy.repeat(MATRIX, counts, axis=1),
        )
    for huge in ([2**41], [2**63, 2**63, 2**63]):
        with pytest.raises(errors.TooLarge, match="places along an axis"):
            xp.repeat(x, xp.asarray(huge, dtype=xp.uint64), axis=1)
    for wrong in ([1, 2], [1, -1, 1], [[1, 1, 1]]):
        with pytest.raises(errors.BadArgument, match="one for each of 3"):
            xp.repeat(x, xp.asarray(wrong), axis=1)


def test_types_are_as_the_standard_wants() -> None:
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype(xp.uint8, ("bool", "unsigned integer"))
    assert xp.isdtype(xp.int8, xp.int8)
    assert xp.isdtype(xp.int8, "numeric")
    assert xp.isdtype(xp.bfloat16, "real floating")
    assert not xp.isdtype(xp.float64, "complex floating")
    with pytest.raises(errors.BadArgument, match="no kind"):
        xp.isdtype(xp.int8, "whole")
    assert xp.finfo(xp.float32).eps == numpy.finfo("float32").eps
    assert type(xp.finfo(xp.ones(1)).max) is float
    assert xp.finfo(xp.bfloat16).max == float.fromhex("0x1.fep127")
    assert (xp.iinfo(xp.int8).min, xp.iinfo(xp.uint64).max) == (-128, 2**64 - 1)
    with pytest.raises(errors.DtypeUnsupported, match="of floats"):
        xp.finfo(xp.int8)
    with pytest.raises(errors.DtypeUnsupported, match="of integers"):
        xp.iinfo(xp.float32)
    assert xp.result_type(xp.int8, xp.uint8) == xp.int16
    assert xp.result_type(xp.ones(1, dtype=xp.float32), 1.0) == xp.float32
    with pytest.raises(errors.DtypeUnsupported):
        xp.result_type(xp.int8, 1.0)
    with pytest.raises(errors.BadArgument, match="an array or a dtype"):
        xp.result_type(1.0)


def test_casts_are_nodes_of_their_own() -> None:
    x = local.array(numpy.array([1.9, -300.0, numpy.nan]))
    agrees(xp.astype(x, xp.int8), numpy.array([1, -128, 0], "int8"))
    agrees(x.astype(xp.bool), numpy.array([True, True, True]))
    assert xp.astype(x, xp.float64, copy=False) is x
    assert xp.astype(x, xp.float64) is not x
    with pytest.raises(errors.BadArgument, match="gpu"):
        xp.astype(x, xp.int8, device="gpu")


def test_bfloat16_is_stored_computed_and_never_numpys() -> None:
    plain = numpy.array([1.0, 3.14159, -0.0], numpy.float32)
    brain = local.array(plain).astype(xp.bfloat16)
    assert (brain.dtype, brain.nbytes, repr(xp.bfloat16)) == (xp.bfloat16, 6, "bfloat16")
    bits = local.bits(brain)
    assert bits.tolist() == [0x3F80, 0x4049, 0x8000]
    again = local.from_bits(bits)
    agrees((again + again).astype(xp.float32), numpy.array([2.0, 6.28125, -0.0], "float32"))
    for use in (brain.compute, lambda: numpy.asarray(brain)):
        with pytest.raises(errors.DtypeUnsupported, match=r"astype\(numpy\.float32\)"):
            use()
    with local.on_demand():
        assert float(again[1]) == 3.140625
    with pytest.raises(errors.DtypeUnsupported, match="uint16"):
        local.from_bits(plain)
    with pytest.raises(errors.DtypeUnsupported, match="bits"):
        local.bits(local.array(plain))
    half = local.array(plain.astype(numpy.float16))
    agrees(half * 2, (plain.astype(numpy.float16) * 2).astype(numpy.float16))


def test_the_namespace_tells_of_itself() -> None:
    x = xp.ones(1)
    assert x.__array_namespace__() is xp is gpugoblin.xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(errors.BadArgument, match=r"2024\.12, not 2021\.12"):
        x.__array_namespace__(api_version="2021.12")
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": False, "data-dependent shapes": False, "max dimensions": 16,
    }  # fmt: skip
    assert info.devices() == [info.default_device()] == [x.device] == ["here"]
    assert info.default_dtypes()["integral"] == xp.int64
    assert list(info.dtypes(kind="bool")) == ["bool"]
    assert len(info.dtypes()) == 11
    assert len(info.dtypes(kind=("signed integer", "real floating"))) == 6
    with pytest.raises(errors.BadArgument, match="no kind"):
        info.dtypes(kind="whole")
    assert (xp.newaxis, xp.e > 2, xp.pi > 3, xp.inf > 9, xp.nan != xp.nan) == (None, *(True,) * 4)


def test_arrays_stay_where_they_are() -> None:
    x, assumed = xp.ones(1), gpugoblin.assume((2,))
    assert x.to_device("here") is x
    assert (assumed.device, assumed.to_device("assumed")) == ("assumed", assumed)
    with pytest.raises(errors.BadArgument, match="stays there"):
        x.to_device("gpu")
