"""Operators that go a block at a time: where blocks meet, and where a short way is not exact."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from opgraph.builder import GraphBuilder
from opgraph.catalogue.elementwise import BLOCK
from opgraph.executor import execute
from opgraph.tensors import room


def run(name: str, *operands: Any, **attributes: Any) -> list[Any]:
    build = GraphBuilder()
    given = {f"x{number}": each for number, each in enumerate(operands)}
    values = [build.placeholder(n, str(each.dtype), each.shape) for n, each in given.items()]
    graph = build.build(*build.apply_all(name, values, attributes))
    return execute(graph, given)


def softmax(rows: Any) -> Any:
    raised = numpy.exp(rows.astype(float) - rows.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def rows_of(largest: list[float], length: int = 40) -> Any:
    rng = numpy.random.default_rng(2)
    rows = rng.standard_normal((len(largest), length)).astype("float32")
    return rows + numpy.asarray(largest, "float32")[:, None]


@pytest.mark.parametrize("largest", [[0, 1], [29, -20], [29, -40], [100, -100], [0, -numpy.inf]])
def test_softmax_is_right_however_far_rows_are_apart(largest: list[float]) -> None:
    rows = rows_of(largest)
    (found,) = run("softmax", rows, axis=1)
    wanted = numpy.where(numpy.isneginf(rows), 0, softmax(numpy.maximum(rows, -1e9)))
    numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("largest", [[0, 1], [29, -40], [1000, -1000]])
def test_losses_are_right_however_far_rows_are_apart(largest: list[float]) -> None:
    rows, labels = rows_of(largest), numpy.array([3, 39])
    (loss,) = run("cross_entropy", rows, labels)
    (slope,) = run("cross_entropy_backward", rows, labels, numpy.ones(2, "float32"))
    shares = softmax(rows)
    numpy.testing.assert_allclose(loss, -numpy.log(shares[[0, 1], labels]), rtol=1e-4)
    shares[[0, 1], labels] -= 1
    numpy.testing.assert_allclose(slope, shares, atol=1e-6)


def test_a_last_block_that_is_not_full_is_computed_too() -> None:
    values = numpy.linspace(-5, 5, 2 * BLOCK + 3, dtype="float32")
    (found,) = run("gelu_tanh", values)
    bent = numpy.tanh(0.7978845608028654 * (values + 0.044715 * values.astype(float) ** 3))
    numpy.testing.assert_allclose(found, values * (1 + bent) / 2, atol=2e-6)
    rows = numpy.random.default_rng(5).standard_normal((2 * BLOCK // 32 - 1, 32), "float32")
    weight, bias = numpy.ones(2**5, "float32"), numpy.zeros(2**5, "float32")
    found, mean, _ = run("layer_norm", rows, weight, bias, epsilon=1e-5)
    numpy.testing.assert_allclose(mean, rows.mean(axis=1, dtype=float), atol=1e-6)
    assert numpy.abs(found.mean(axis=1)).max() < 1e-6
    assert numpy.abs(found.std(axis=1) - 1).max() < 1e-4


def test_the_normal_share_of_gelu_is_near_where_erf_ends() -> None:
    values = numpy.array([-numpy.inf, -1e30, -6, -4, 0, 4, 6, 1e30, numpy.nan], "float32")
    (found,) = run("gelu", values)
    assert numpy.isnan(found[[0, -1]]).all()
    numpy.testing.assert_allclose(found[1:-1], [0, 0, -1.2668e-4, 0, 3.99987, 6, 1e30], atol=4e-6)


def test_of_equal_elements_the_first_is_the_largest_and_of_nan_the_last() -> None:
    image = numpy.array([[-0.0, 0.0, 1.0, numpy.nan], [0.0, -0.0, numpy.nan, 2.0]], "float32")
    placing = {"strides": (2, 2), "before": (0, 0), "after": (0, 0), "dilations": (1, 1)}
    found, indices = run("max_pool", image.reshape(1, 1, 2, 4), kernel=(2, 2), **placing)
    assert indices.ravel().tolist() == [0, 6]
    assert numpy.signbit(found[0, 0, 0, 0])
    assert numpy.isnan(found[0, 0, 0, 1])


@pytest.mark.parametrize("padding", [0, 1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_the_gradient_of_a_convolution_is_that_of_its_sum(padding: int, stride: int) -> None:
    """<convolution(x, w), g> = <x, gradient of x> = <w, gradient of w>, with whole numbers."""
    rng = numpy.random.default_rng(3)
    images = rng.integers(-3, 4, (3, 4, 7, 6)).astype("int64")
    weight = rng.integers(-3, 4, (6, 2, 3, 3)).astype("int64")
    pads = (padding, padding)
    placing = {"strides": (stride,) * 2, "before": pads, "after": pads, "dilations": (1, 1)}
    (made,) = run("convolution", images, weight, groups=2, **placing)
    slope = rng.integers(-3, 4, made.shape).astype("int64")
    (of_images,) = run(
        "convolution_backward_input", slope, weight, size=(7, 6), groups=2, **placing
    )
    (of_weight,) = run(
        "convolution_backward_weight", slope, images, kernel=(3, 3), groups=2, **placing
    )
    assert (made * slope).sum() == (images * of_images).sum() == (weight * of_weight).sum()


def test_rows_are_added_like_everything_else() -> None:
    rng = numpy.random.default_rng(4)
    values = rng.standard_normal((30, 20, 24)).astype("float32")
    (found,) = run("sum", values, axes=(0, 1), keepdims=True, dtype="float32")
    assert found.shape == (1, 1, 24)
    numpy.testing.assert_allclose(found[0, 0], values.sum(axis=(0, 1), dtype=float), rtol=1e-4)


def test_room_begins_with_a_line_of_the_cache() -> None:
    made = [room(numpy, (number, 1024), "float32") for number in range(1, 9)]
    assert all(each.ctypes.data % 64 == 0 for each in made)
    assert all(each.flags.c_contiguous and each.flags.writeable for each in made)
    assert room(numpy, (3,), "int8").shape == (3,)
