"""Parts of lazy arrays, and arrays in which a part is replaced: as numpy, and lazily."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices, integer_array_indices

import gpugoblin
from gpugoblin import errors, local, xp

shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
shapes_with_elements = array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def numbers(shape: tuple[int, ...]) -> Any:
    return numpy.arange(float(numpy.prod(shape, dtype=int))).reshape(shape)


def agrees(lazy: Any, wanted: Any) -> None:
    assert lazy.shape == wanted.shape
    assert numpy.array_equal(lazy.compute(), wanted)


@given(st.data())
@settings(max_examples=150)
def test_basic_keys_are_numpys(data: st.DataObject) -> None:
    plain = numbers(data.draw(shapes))
    key = data.draw(basic_indices(plain.shape, allow_newaxis=True))
    lazy = local.array(plain)
    agrees(lazy[key], plain[key])
    changed = plain.copy()
    changed[key] = -1.0
    lazy[key] = -1.0
    agrees(lazy, changed)
    value = numpy.arange(float(plain[key].size)).reshape(plain[key].shape) - 99
    changed[key] = value
    lazy[key] = value
    agrees(lazy, changed)


@given(st.data())
@settings(max_examples=80)
def test_arrays_of_integers_as_keys_are_numpys(data: st.DataObject) -> None:
    plain = numbers(data.draw(shapes_with_elements))
    result = array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=3)
    key = data.draw(
        integer_array_indices(plain.shape, result_shape=result, dtype=numpy.dtype("int64"))
    )
    agrees(local.array(plain)[key], plain[key])


KEYS: list[Any] = [
    (slice(None), [0, 2], slice(1, 3)),
    ([1, 0], slice(None), [3, 0]),
    ([1, 0], None, slice(None), 2),
    (0, slice(None), [0, 3, 3]),
    (0, [0, -3], slice(None, None, -1)),
    (Ellipsis, [-1, 0]),
    (None, slice(None), [[0, 2], [1, 1]], None),
    (slice(None, None, -1), [2, 1], [0, -4]),
    ([[0], [1]], [0, 1, 2], slice(0, 4, 2)),
    ([], slice(None), slice(None)),
    (numpy.array([1, 1], "uint8"),),
    (numpy.array([-1, 1], "int8"), 0),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_arrays_beside_slices_stand_where_numpy_puts_them(key: tuple[Any, ...]) -> None:
    plain = numbers((2, 3, 4))
    lists = tuple(
        numpy.asarray(each, None if each else int) if isinstance(each, list) else each
        for each in key
    )
    lazy = local.array(plain)
    agrees(lazy[lists], plain[lists])
    changed = plain.copy()
    value = -1.0 - numpy.arange(float(plain[lists].size)).reshape(plain[lists].shape)
    changed[lists] = value
    lazy[lists] = value
    agrees(lazy, changed)
    changed[lists] = 5.0
    lazy[lists] = 5.0
    agrees(lazy, changed)


def test_a_numpy_number_is_a_number_and_an_array_stays_where_it_is() -> None:
    x = xp.ones((2, 2), dtype=xp.float32)
    x[0] = numpy.float64(3.0)
    assert x.type.dtype == "float32"
    here = local.array(numpy.ones((2, 2)))
    here[...] = 0.0
    assert here.home is local.HOME
    assumed = gpugoblin.assume((2, 2), "float64")
    assumed[...] = 0.0
    assert assumed.device == "assumed"
    with pytest.raises(errors.NotComputed, match="one place"):
        here[...] = gpugoblin.assume((2, 2), "float64")


def test_of_equal_indices_the_last_value_stays() -> None:
    x = xp.zeros(3)
    x[xp.asarray([1, 1])] = xp.asarray([4.0, 5.0])
    assert x.compute().tolist() == [0.0, 5.0, 0.0]


def test_masks_are_set_and_not_read() -> None:
    plain = numbers((2, 3))
    x = local.array(plain)
    x[x > 2.0] = 9.0
    x[local.array(numpy.array([True, False]))] = xp.asarray(-1.0)
    changed = numpy.where(plain > 2, 9.0, plain)
    changed[0] = -1.0
    agrees(x, changed)
    with pytest.raises(errors.NotComputed, match=r"only the numbers know.*where"):
        x[x > 2.0]
    with pytest.raises(errors.ShapeMismatch, match="one number"):
        x[x > 2.0] = xp.ones(2)
    with pytest.raises(errors.ShapeMismatch, match="mask"):
        x[xp.asarray([True, False, True])] = 0.0
    with pytest.raises(errors.BadArgument, match="mask can only stand alone"):
        x[0, xp.asarray([True, False, True])]


def test_setting_gives_a_new_value_and_leaves_others_alone() -> None:
    plain = numbers((4,))
    x = local.array(plain)
    same, before, part = x, x + 0.0, x[1:]
    x[1] = -7.0
    x += 1.0
    assert same is x
    agrees(x, numpy.array([1.0, -6.0, 3.0, 4.0]))
    agrees(before, numbers((4,)))
    agrees(part, numbers((4,))[1:])
    assert plain.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("key", "kind", "match"),
    [
        (5, IndexError, "Index 5 of axis 0, which has 2"),
        ((0, -4), IndexError, "Index -4 of axis 1, which has 3"),
        ((0, 0, 0), IndexError, "3 indices for an array of 2 axes"),
        ((Ellipsis, Ellipsis), ValueError, "once"),
        (True, ValueError, "boolean"),
        (1.0, ValueError, "not float"),
        ("a", ValueError, "not str"),
        (slice(None, None, 0), ValueError, "zero"),
        (numpy.array([0.5]), ValueError, "Indices are integers, not float64"),
    ],
)
def test_wrong_keys_are_refused_at_the_line(key: Any, kind: type[Exception], match: str) -> None:
    x = xp.ones((2, 3))
    with pytest.raises(kind, match=match):
        x[key]
    with pytest.raises(kind, match=match):
        x[key] = 1.0


def test_wrong_values_are_refused_at_the_line() -> None:
    x = xp.ones((2, 3), dtype=xp.float32)
    with pytest.raises(errors.ShapeMismatch, match=r"\(2,\) does not broadcast to the part \(3,\)"):
        x[0] = xp.ones(2, dtype=xp.float32)
    with pytest.raises(errors.DtypeUnsupported, match=r"float64 can't be set.*astype\(float32\)"):
        x[0] = xp.ones(3)
    with pytest.raises(errors.DtypeUnsupported, match="float32"):
        x[0] = True


@pytest.mark.parametrize("key", [[3], [-4], [0, 9]])
def test_an_index_outside_is_found_while_computing_at_the_users_line(key: list[int]) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    lazy = x[xp.asarray(key)]
    with pytest.raises(errors.ComputationFailed, match=r"take.*test_indexing\.py:\d+: Index"):
        lazy.compute()
    two = xp.ones((3, 5))[xp.asarray([0]), xp.asarray([7])]
    with pytest.raises(errors.ComputationFailed) as caught:
        two.compute()
    assert caught.value.facts["reason"] == "index_out_of_range"
    assert caught.value.facts["operator"] == "take"
    wrapped = x[xp.asarray([2**64 - 1], dtype=xp.uint64)]
    with pytest.raises(errors.ComputationFailed):
        wrapped.compute()


def test_take_and_take_along_axis_are_numpys() -> None:
    plain = numbers((3, 4))
    x, rows = local.array(plain), numpy.array([2, 0, -1])
    agrees(xp.take(x, local.array(rows), axis=0), numpy.take(plain, rows, axis=0))
    agrees(xp.take(x[0], local.array(rows)), plain[0][rows])
    agrees(xp.take(x, local.array(rows.astype("int8")), axis=-1), plain[:, rows])
    places = numpy.argsort(-plain, axis=1)[:, :2]
    wanted = numpy.take_along_axis(plain, places, 1)
    agrees(xp.take_along_axis(x, local.array(places)), wanted)
    spread = numpy.take_along_axis(plain, places[:1], 1)
    agrees(xp.take_along_axis(x, local.array(places[:1])), spread)
    with pytest.raises(errors.ShapeMismatch, match="axis="):
        xp.take(x, local.array(rows))
    with pytest.raises(errors.ShapeMismatch, match="one axis"):
        xp.take(x, local.array(places), axis=0)
    with pytest.raises(errors.DtypeUnsupported, match="integers"):
        xp.take(x, xp.ones(2), axis=0)
    with pytest.raises(errors.ShapeMismatch, match="as many axes"):
        xp.take_along_axis(x, local.array(rows))
