"""Lazy arrays: what is checked at the line, and what never happens in passing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpugoblin
from gpugoblin import errors, local, xp

from .fake_control import TILES, FakeLab

shapes = st.lists(st.integers(0, 4), min_size=0, max_size=3).map(tuple)


@given(shapes, shapes)
def test_shapes_are_numpys(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = gpugoblin.assume(left), gpugoblin.assume(right)
    if len(left) in (1, 2) and len(right) in (1, 2) and left[-1] == right[0]:
        wanted = numpy.matmul(numpy.zeros(left), numpy.zeros(right))
        assert (a @ b).shape == wanted.shape
        return
    with pytest.raises((errors.ShapeMismatch, errors.UnsupportedComputation)):
        a @ b


def test_a_wrong_shape_names_both() -> None:
    with pytest.raises(errors.ShapeMismatch, match=r"\(3, 4\) @ \(5, 6\).*4 and 5") as caught:
        gpugoblin.assume((3, 4)) @ gpugoblin.assume((5, 6))
    assert isinstance(caught.value, ValueError)


def test_two_types_are_refused_with_the_casts_to_write() -> None:
    single, double = gpugoblin.assume((2, 2)), gpugoblin.assume((2, 2), "float64")
    wanted = r"left array is float32.*right one float64.*astype\(numpy\.float64\)"
    with pytest.raises(errors.DtypeUnsupported, match=wanted) as caught:
        single @ double
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("dtype", "way_out"),
    [("bool", r"astype\(numpy\.float32\)"), ("float16", r"astype\(numpy\.float32\)")],
)
def test_products_of_other_types_are_refused_with_the_way_out(dtype: str, way_out: str) -> None:
    lazy = gpugoblin.assume((2, 2), dtype)
    with pytest.raises(errors.DtypeUnsupported, match=way_out):
        lazy @ lazy


@pytest.mark.parametrize(
    ("dtype", "way_out"),
    [
        ("complex128", "real and imaginary"),
        ("longdouble", r"astype\(numpy\.float64\)"),
        ("O", "float64, float32"),
        ("<U3", "float64, float32"),
    ],
)
def test_what_the_catalogue_has_not_is_refused_with_the_way_out(dtype: str, way_out: str) -> None:
    with pytest.raises(errors.DtypeUnsupported, match=way_out):
        local.array(numpy.empty((2, 2), dtype))


@pytest.mark.parametrize("dtype", [">f4", "<f8", ">f8"])
def test_byte_order_does_not_matter(dtype: str) -> None:
    array = local.array(numpy.arange(6.0).reshape(2, 3).astype(dtype))
    product = array @ array.home.adopt(numpy.arange(3.0).astype(array.dtype))
    assert numpy.array_equal(product.compute(), numpy.arange(6.0).reshape(2, 3) @ numpy.arange(3.0))


def test_row_27_declared_and_computed_types_are_equal() -> None:
    for dtype in ("float32", "float64"):
        for left, right in [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,))]:
            a, b = numpy.ones(left, dtype), numpy.ones(right, dtype)
            lazy = local.array(a) @ b
            computed = lazy.compute()
            assert (lazy.shape, lazy.dtype) == (computed.shape, computed.dtype)
            assert numpy.array_equal(computed, a @ b)


REFUSED: list[Callable[[Any], Any]] = [
    bool,
    float,
    int,
    complex,
    list,
    lambda lazy: 3 in lazy,
    lambda lazy: [1, 2, 3][lazy],
    numpy.sin,
    numpy.sum,
    lambda lazy: numpy.dot(lazy, lazy),
    lambda lazy: numpy.matmul(lazy, lazy, out=numpy.ones(2)),
]


@pytest.mark.parametrize("use", REFUSED)
def test_row_35_nothing_is_computed_in_passing(use: Callable[[Any], Any]) -> None:
    lazy = gpugoblin.assume((2, 2))
    with pytest.raises(errors.NotComputed, match=r"test_array\.py:\d+"):
        use(lazy)


@pytest.mark.parametrize(
    "use",
    [
        lambda lazy: lazy + lazy,
        lambda lazy: 2 * lazy,
        lambda lazy: lazy / 2,
        lambda lazy: -lazy,
        lambda lazy: lazy**2,
        lambda lazy: lazy < 1,
    ],
)
def test_other_arithmetic_is_described_and_not_submitted(
    lab: gpugoblin.Lab, use: Callable[[Any], Any]
) -> None:
    lazy = use(lab.array(numpy.eye(2)))
    assert lazy.shape == (2, 2)
    wanted = r"test_array\.py:\d+: today's network computes products, A @ B.*gpugoblin\.local"
    with pytest.raises(errors.UnsupportedComputation, match=wanted):
        lazy.submit()
    with pytest.raises(errors.UnsupportedComputation, match=wanted):
        (xp.astype(lazy, xp.float64) @ xp.astype(lazy, xp.float64)).submit()
    with pytest.raises(errors.UnsupportedComputation, match=wanted):
        lazy.compute()
    assert not lazy.explain().possible
    with pytest.raises(errors.NotComputed, match="only assumed"):
        use(gpugoblin.assume((2, 2))).submit()


def test_numbers_do_not_travel_to_a_lab_in_passing(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    lazy = lab.array(numpy.eye(2))
    for use in (lambda: lazy + numpy.ones(2), lambda: numpy.ones(2) * lazy):
        with pytest.raises(errors.NotComputed, match=r"lab\.array\(x\)"):
            use()
    assert len(fake.arrays) == 1
    assert (lazy + xp.ones(2)).home is lab


def test_row_35_a_large_array_is_not_pulled_in_and_a_small_one_is() -> None:
    large = gpugoblin.assume((8192, 8192)) @ gpugoblin.assume((8192, 8192))
    with pytest.raises(errors.TooLarge, match=r"256 MiB.*\.compute\(\).*\.submit"):
        numpy.asarray(large)
    small = local.array(numpy.eye(3)) @ numpy.ones(3)
    assert numpy.array_equal(numpy.asarray(small), numpy.ones(3))
    assert numpy.asarray(small, dtype=numpy.float32).dtype == numpy.float32
    with pytest.raises(TypeError, match="copy=False"):
        numpy.asarray(small, copy=False)


def test_numpys_methods_are_functions_and_the_error_says_which() -> None:
    lazy = gpugoblin.assume((2, 2))
    with pytest.raises(AttributeError, match=r"'sum'; it is a function here: gpugoblin\.xp\.sum"):
        lazy.sum()
    with pytest.raises(AttributeError, match=r"no attribute 'flags'\.$"):
        lazy.flags  # noqa: B018
    assert not hasattr(lazy, "__array_interface__")


def test_copies_are_names_for_the_same_value() -> None:
    lazy = xp.ones(2)
    shallow, deep = copy.copy(lazy), copy.deepcopy([lazy])[0]
    lazy[0] = 5.0
    assert shallow.compute().tolist() == deep.compute().tolist() == [1.0, 1.0]


def test_an_array_knows_its_size_without_numbers() -> None:
    lazy = gpugoblin.assume((5, 4), "float64")
    assert (lazy.ndim, lazy.size, lazy.nbytes, len(lazy)) == (2, 20, 160, 5)
    assert "assumed: 5 x 4 float64, 160 B" in repr(lazy)
    assert (lazy == lazy).dtype == numpy.bool
    assert len({lazy, lazy}) == 1
    with pytest.raises(TypeError, match="without axes"):
        len(gpugoblin.assume(()))


def test_numpy_arrays_on_either_side_join_in(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    lazy = lab.array(numpy.eye(4))
    for product in (lazy @ numpy.ones((4, 2)), numpy.ones((2, 4)) @ lazy,
                    numpy.matmul(numpy.ones(4), lazy), numpy.matmul(lazy, numpy.ones(4)),
                    numpy.matmul(lazy, lazy)):  # fmt: skip
        assert isinstance(product, gpugoblin.Array)
    assert len(fake.arrays) == 4


def test_arrays_of_two_places_do_not_mix(lab: gpugoblin.Lab) -> None:
    with pytest.raises(errors.NotComputed, match=r"one place"):
        lab.array(numpy.eye(4)) @ local.array(numpy.eye(4))


def test_an_assumed_array_has_nothing_to_submit_or_compute() -> None:
    lazy = gpugoblin.assume((2, 2)) @ gpugoblin.assume((2, 2))
    with pytest.raises(errors.NotComputed, match="only assumed"):
        lazy.submit()
    with pytest.raises(errors.NotComputed, match="only assumed"):
        lazy.compute()


def test_compute_is_submit_wait_and_fetch(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    import threading

    lazy = lab.array(numpy.eye(4)) @ numpy.arange(4.0)

    def verify() -> None:
        while not fake.jobs:
            threading.Event().wait(0.01)
        fake.verify(next(iter(fake.jobs)), TILES)

    threading.Thread(target=verify).start()
    assert numpy.array_equal(lazy.compute(name="quick"), numpy.arange(4.0))
    with pytest.raises(errors.NotComputed, match="lies at the lab"):
        lab.array(numpy.eye(4)).compute()


@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [((3, 4), (4, 2), [3, 2]), ((4,), (4, 2), [2]), ((3, 4), (4,), [3]), ((4,), (4,), [])],
)
def test_the_graph_is_one_product_of_matrices(
    lab: gpugoblin.Lab, fake: FakeLab,
    left: tuple[int, ...], right: tuple[int, ...], shape: list[int],
) -> None:  # fmt: skip
    a = numpy.random.default_rng(1).standard_normal(left)
    b = numpy.random.default_rng(2).standard_normal(right)
    job = (lab.array(a) @ lab.array(b)).submit()
    fake.verify(job.id, TILES)
    assert job.info().shape == shape
    assert numpy.array_equal(job.result(), a @ b)


def test_an_array_times_itself_has_one_placeholder(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    from gpugoblin.graphs import computation

    square, line = lab.array(numpy.eye(4)), lab.array(numpy.ones(4))
    assert list(computation(square @ square).inputs) == ["x0"]
    assert list(computation(line @ line).inputs) == ["x0", "x1"]
    job = (square @ square).submit()
    fake.verify(job.id, TILES)
    assert numpy.array_equal(job.result(), numpy.eye(4))


def test_a_product_of_products_says_how_to_go_on(lab: gpugoblin.Lab) -> None:
    square = lab.array(numpy.eye(4))
    lazy = square @ square @ square
    assert "(array @ array) @ array" in repr(lazy)
    with pytest.raises(errors.UnsupportedComputation, match=r"out='name\.npy'.*lab\.open"):
        lazy.submit()
    assert not lazy.explain().possible
    with pytest.raises(errors.UnsupportedComputation, match="nothing to compute"):
        square.submit()
