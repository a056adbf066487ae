"""Windows that cannot be are refused before anything is made for them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from opgraph.builder import GraphBuilder
from opgraph.catalogue import operator
from opgraph.errors import ComputationError, GraphError
from opgraph.executor import execute
from opgraph.tensors import TensorType

PLACING: dict[str, Any] = {
    "strides": (1, 1),
    "before": (0, 0),
    "after": (0, 0),
    "dilations": (1, 1),
}
CONVOLUTION: dict[str, Any] = {**PLACING, "groups": 1}


def infer(name: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]) -> Any:
    types = [TensorType("float32", shape) for shape in shapes]
    return [each.shape for each in operator(name).infer(types, attributes)]


@pytest.mark.parametrize(
    "changed",
    [
        {"strides": (0, 1)},
        {"strides": (1,)},
        {"before": (-1, 0)},
        {"dilations": (1, 0)},
        {"dilations": (9, 9)},
        {"groups": 0},
        {"groups": 2},
    ],
)
def test_a_convolution_that_does_not_fit_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(GraphError) as caught:
        infer("convolution", [(2, 3, 8, 8), (4, 3, 3, 3)], {**CONVOLUTION, **changed})
    assert caught.value.code == "wrong_shape"


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 8), (4, 3)],
        [(), ()],
        [(2, 3, 8, 8), (4, 2, 3, 3)],
        [(2, 3, 8, 8), (4, 3, 3)],
        [(2, 3, 8, 8), (4, 3, 9, 3)],
        [(2, 3, 900, 900), (4, 3, 300, 300)],
    ],
)
@pytest.mark.parametrize("name", ["convolution", "convolution_backward_input"])
def test_operands_that_do_not_fit_are_refused(name: str, shapes: Any) -> None:
    size = {"size": (8, 8)} if name.endswith("input") else {}
    with pytest.raises(GraphError):
        infer(name, shapes, {**CONVOLUTION, **size})


def test_places_are_counted_as_everywhere() -> None:
    given = {
        "strides": (2, 3),
        "before": (1, 0),
        "after": (1, 2),
        "dilations": (1, 2),
        "groups": 1,
    }
    assert infer("convolution", [(5, 3, 8, 9), (4, 3, 3, 3)], given) == [(5, 4, 4, 3)]


@pytest.mark.parametrize("shape", [(5, 4, 7, 3), (5, 3, 4, 4), (4, 4, 4, 3)])
def test_a_gradient_has_the_shape_of_the_result(shape: tuple[int, ...]) -> None:
    given = {**CONVOLUTION, "strides": (2, 3), "kernel": (3, 3)}
    with pytest.raises(GraphError):
        infer("convolution_backward_weight", [shape, (5, 3, 9, 9)], given)


@pytest.mark.parametrize(
    "changed",
    [
        {"before": (2, 0)},
        {"after": (0, 2)},
        {"dilations": (9, 1), "before": (8, 0), "after": (8, 0)},
        {"kernel": (0, 2)},
        {"kernel": (2,)},
        {"kernel": (400, 400)},
    ],
)
@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
def test_a_window_without_elements_is_refused(name: str, changed: dict[str, Any]) -> None:
    counting = {} if name == "max_pool" else {"count_include_pad": True}
    with pytest.raises(GraphError):
        infer(name, [(2, 3, 8, 8)], {"kernel": (2, 2), **PLACING, **counting, **changed})


def test_an_index_outside_of_the_image_is_an_error() -> None:
    build = GraphBuilder()
    values = [build.placeholder("0", "float32", (1, 1, 2))]
    values.append(build.placeholder("1", "int64", (1, 1, 2)))
    graph = build.build(build.apply("max_pool_backward", *values, size=(4,)))
    inputs = {"0": numpy.ones((1, 1, 2), "float32"), "1": numpy.array([[[0, 4]]])}
    with pytest.raises(ComputationError) as caught:
        execute(graph, inputs)
    assert caught.value.code == "index_out_of_range"
