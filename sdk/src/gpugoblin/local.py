"""The same expressions computed in this process, with no account and no lab node.

>>> import numpy, gpugoblin
>>> A = gpugoblin.local.array(numpy.eye(3))
>>> (A @ A).compute().trace()
np.float64(3.0)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gpugoblin import local_files
from gpugoblin.array import Array, Leaf
from gpugoblin.arrays import building, evaluation
from gpugoblin.arrays.dtypes import as_dtype
from gpugoblin.errors import (
    BadArgument,
    DtypeUnsupported,
    UnsupportedComputation,
)
from gpugoblin.intake import as_any_numpy
from opgraph.tensors import HALVES

if TYPE_CHECKING:
    from gpugoblin.explanation import Explanation
    from gpugoblin.job import Job

_on_demand: ContextVar[bool] = ContextVar("gpugoblin_local_on_demand", default=False)


class Local:
    """The home of arrays in this process."""

    def adopt(self, x: Any) -> Array:
        content = as_any_numpy(x)
        return Array(self, content.shape, as_dtype(content.dtype), _leaf(content))

    joining = adopt

    def owns(self, other: Array) -> bool:
        return isinstance(other.home, Local)

    def numbers(self, array: Array, **options: Any) -> NDArray[Any]:
        if options:
            raise UnsupportedComputation(
                f"compute() in this process takes no options, not {', '.join(options)}."
            )
        return compute(array)[0]

    def known(self, array: Array) -> NDArray[Any] | None:
        if isinstance(array.source, Leaf) or _on_demand.get():
            wide = building.cast(array, "float32") if array.type.dtype == "bfloat16" else array
            return evaluation.on_demand(wide.value)
        return None

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

    @property
    def device(self) -> str:
        return "here"

    @property
    def is_here(self) -> bool:
        return True


HOME = Local()

ANYWHERE = Local()
"""The home of arrays made of nothing but constants: they go with arrays of every other home."""


def array(x: Any) -> Array:
    """A lazy array over `x`: a numpy array or anything with its interface. Nothing is copied.

    Raises `BadArray` for what is no array, `DtypeUnsupported` for other element types.
    """
    return HOME.adopt(x)


def asarray(obj: Any, /, *, dtype: Any = None, copy: bool | None = None) -> Array:
    """`gpugoblin.xp.asarray`: a lazy array from numbers, lists of them, or another array."""
    from gpugoblin.arrays.creation import asarray as make

    return make(obj, dtype=dtype, copy=copy)


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    tensor: str | None = None,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    order: str = "C",
    offset: int = 0,
) -> Array:
    """A lazy array over a file of this machine, in the formats of `lab.open`.

    It is read when it is computed with; only zarr, which has to be unpacked, is read at once.
    """
    question = local_files.asked(os.fspath(path), tensor, shape, dtype, order, offset)
    content, name = local_files.read(question)
    return Array(HOME, content.shape, as_dtype(name), Leaf(f"{id(content)}", str(path), content))


def compute(*arrays: Array) -> tuple[NDArray[Any], ...]:
    """The numbers of several arrays at once: what they share is computed once.

    Raises `ComputationFailed`, which names the operator and your line, where the numbers do not
    allow what was asked, and `DtypeUnsupported` for bfloat16, which numpy does not have.
    """
    for each in arrays:
        if not isinstance(each, Array) or not each.home.is_here:
            raise BadArgument(
                "Only lazy arrays in this process are computed here; an array of a lab is computed"
                " by its own .compute()."
            )
        if each.type.dtype == "bfloat16":
            raise DtypeUnsupported(
                "numpy has no bfloat16: write .astype(numpy.float32).compute(), or"
                " gpugoblin.local.bits(x) for the bits as uint16."
            )
    return tuple(evaluation.computed([each.value for each in arrays]))


def bits(x: Array) -> NDArray[numpy.uint16]:
    """The bits of a bfloat16 or float16 array, computed, as uint16."""
    if x.type.dtype not in HALVES:
        raise DtypeUnsupported(f"bits() is for bfloat16 and float16, not {x.type.dtype}.")
    return evaluation.computed([x.value])[0].view(numpy.uint16)


def from_bits(x: Any) -> Array:
    """A lazy bfloat16 array over its bits, a numpy array of uint16. Nothing is copied."""
    content = as_any_numpy(x)
    if content.dtype != numpy.uint16:
        raise DtypeUnsupported(f"The bits of bfloat16 are uint16, not {content.dtype}.")
    return Array(HOME, content.shape, as_dtype("bfloat16"), _leaf(content))


def on_demand(enabled: bool = True) -> _Switch:
    """Let `bool(x)`, `float(x)`, `int(x)` of arrays without axes compute in passing.

    It counts for arrays of this process, from the call on, in this thread; with `with` to the end
    of the block. What is computed so is kept in memory as long as its arrays are. By default they
    are refused here as they are at a lab, so that a program that runs here runs there.
    """
    return _Switch(enabled)


class _Switch:
    """What `on_demand` gives: leaving it brings back what was before."""

    def __init__(self, enabled: bool) -> None:
        self._before = _on_demand.set(enabled)

    def __enter__(self) -> None:
        """Nothing more: it counts from the call on."""

    def __exit__(self, *_: object) -> None:
        _on_demand.reset(self._before)


def _leaf(content: NDArray[Any]) -> Leaf:
    return Leaf(f"{id(content)}", "array", content)


__all__ = [
    "ANYWHERE", "HOME", "Local", "array", "asarray", "bits", "compute", "from_bits", "on_demand",
    "open",
]  # fmt: skip
