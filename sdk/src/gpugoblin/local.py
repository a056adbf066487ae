"""The same expressions computed in this process, with no account and no lab node.

>>> import numpy, gpugoblin
>>> A = gpugoblin.local.array(numpy.eye(3))
>>> (A @ A).compute().trace()
np.float64(3.0)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gpugoblin.array import Array, Leaf, Product
from gpugoblin.errors import BadArray, FileMissing, UnsupportedComputation
from gpugoblin.graphs import matrix_shapes
from gpugoblin.intake import as_numpy
from gpugoblin.operands import check_dtype
from opgraph.builder import GraphBuilder
from opgraph.executor import execute

if TYPE_CHECKING:
    from gpugoblin.explanation import Explanation
    from gpugoblin.job import Job


class Local:
    """The home of arrays in this process."""

    def adopt(self, x: Any) -> Array:
        content = as_numpy(x)
        key = f"{id(content)}"
        leaf = Leaf(key, "array", content)
        return Array(self, content.shape, check_dtype(content.dtype), leaf)

    def owns(self, other: Array) -> bool:
        return isinstance(other.home, Local)

    def numbers(self, array: Array, **options: Any) -> NDArray[Any]:
        if options:
            raise UnsupportedComputation(
                f"compute() in this process takes no options, not {', '.join(options)}."
            )
        if isinstance(array.source, Leaf):
            assert array.source.content is not None  # noqa: S101
            return array.source.content
        return _multiplied(array, array.source, self)

    def explain(self, array: Array, **options: Any) -> Explanation:
        from gpugoblin.assumed import explain

        return explain(array, **options)

    def submit(self, array: Array, **_: Any) -> Job:
        raise UnsupportedComputation(
            f"{array.source.label} is computed in this process: write .compute(). A job needs a"
            " lab node: gpugoblin.connect()."
        )

    @property
    def where(self) -> str:
        return "in this process"


HOME = Local()


def array(x: Any) -> Array:
    """A lazy array over `x`: a numpy array or anything with its interface. Nothing is copied."""
    return HOME.adopt(x)


def open(path: str | os.PathLike[str]) -> Array:  # noqa: A001
    """A lazy array over a `.npy` file of this machine; it is read when it is computed with."""
    try:
        content = numpy.load(Path(path), mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileMissing(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise BadArray(f"{path} is not an array that can be opened: {error}") from None
    return Array(
        HOME, content.shape, check_dtype(content.dtype), Leaf(str(path), str(path), content)
    )


def _multiplied(array: Array, product: Product, home: Local) -> NDArray[Any]:
    build = GraphBuilder()
    shapes = matrix_shapes(product)
    values = [
        build.placeholder(f"x{place}", array.dtype.name, shape)
        for place, shape in enumerate(shapes)
    ]
    graph = build.build(build.apply("matmul", *values))
    operands = (home.numbers(product.left), home.numbers(product.right))
    inputs = {
        f"x{place}": operand.reshape(shape).astype(array.dtype, copy=False)
        for place, (operand, shape) in enumerate(zip(operands, shapes, strict=True))
    }
    (result,) = execute(graph, inputs, threads=os.cpu_count() or 1)
    return numpy.asarray(result).reshape(array.shape)
