"""Lazy arrays: a shape, an element type, and how the numbers would be made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy
from numpy.typing import NDArray

from goblin_wire.protocol import INLINE_BYTES
from gpugoblin import cards, words
from gpugoblin.arithmetic import ProductsOnly
from gpugoblin.errors import NotComputed, TooLarge
from gpugoblin.operands import AnyDtype, Shape, product_dtype, product_shape

if TYPE_CHECKING:
    from gpugoblin.explanation import Explanation
    from gpugoblin.job import Job


class Home(Protocol):
    """Where arrays live and are computed: a lab, this process, or nowhere (assumed ones)."""

    @property
    def where(self) -> str:
        """For sentences: `at /home/ada/lab`, `in this process`."""

    def adopt(self, x: Any) -> Array:
        """An array of this home from any library's array."""

    def owns(self, other: Array) -> bool:
        """Whether `other` can be multiplied with arrays of this home."""

    def numbers(self, array: Array, **options: Any) -> NDArray[Any]:
        """The numbers, computed if they have to be."""

    def explain(self, array: Array, **options: Any) -> Explanation:
        """What computing the array would take."""

    def submit(self, array: Array, **options: Any) -> Job:
        """Hand the computation over."""


class Leaf:
    """Numbers that exist already. `key` is equal for equal ones."""

    def __init__(self, key: str, label: str, content: NDArray[Any] | None = None) -> None:
        self.key = key
        self.label = label
        self.content = content


class Product:
    """`left @ right`, not computed."""

    def __init__(self, left: Array, right: Array) -> None:
        self.left = left
        self.right = right

    @property
    def label(self) -> str:
        return " @ ".join(_bracketed(operand) for operand in (self.left, self.right))


class Array(ProductsOnly):
    """A lazy array of float32 or float64. `A @ B` checks shapes and types at that line.

    Nothing is computed before `compute()` or `submit()`; `explain()` says what that would take.
    Made by `lab.open`, `lab.array`, `gpugoblin.local.array` and `gpugoblin.assume`.
    """

    def __init__(self, home: Home, shape: Shape, dtype: AnyDtype, source: Leaf | Product) -> None:
        self.home = home
        self.shape = tuple(int(length) for length in shape)
        self.dtype = dtype
        self.source = source

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers, wherever they are."""
        return self.size * self.dtype.itemsize

    def __matmul__(self, other: Any) -> Array:
        """The product, lazily. Raises `ShapeMismatch` or `DtypeUnsupported` here and now."""
        return self._times(self, self._adopted(other))

    def __rmatmul__(self, other: Any) -> Array:
        return self._times(self._adopted(other), self)

    def _times(self, left: Array, right: Array) -> Array:
        dtype = product_dtype(left.dtype, right.dtype)
        shape = product_shape(left.shape, right.shape)
        return Array(self.home, shape, dtype, Product(left, right))

    def _adopted(self, other: Any) -> Array:
        if not isinstance(other, Array):
            return self.home.adopt(other)
        if self.home.owns(other):
            return other
        raise NotComputed(
            f"{self.source.label} is {self.home.where}, {other.source.label} {other.home.where}:"
            " both arrays of a product have to be in one place."
        )

    def explain(self, **options: Any) -> Explanation:
        """What computing this takes: units, bytes, memory, time, verification, and a verdict.

        With `network=` (and `lab=`) figures the plan is made here, for that network; otherwise a
        lab's own plan for the network as it is now. `grade=` and `memory=` as for `submit`. A plan
        that is impossible is printed with the reason; nothing is raised.
        """
        return self.home.explain(self, **options)

    def submit(
        self,
        name: str = "",
        *,
        out: str | None = None,
        fresh: bool = False,
        grade: str = "standard",
        memory: int | None = None,
    ) -> Job:
        """Hand the computation to the lab node and return its job at once.

        `name` to find it by later; `out`: path of the result under a root of the lab node;
        `fresh`: start a new attempt although the same computation was submitted before;
        `memory`: bytes that a unit may take at most. The same submission twice is one job.
        """
        return self.home.submit(self, name=name, out=out, fresh=fresh, grade=grade, memory=memory)

    def compute(self, **options: Any) -> NDArray[Any]:
        """The numbers as a numpy array; at a lab: submit, wait and fetch (options as there)."""
        return self.home.numbers(self, **options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The numbers of a small array; a large one is never pulled in by accident."""
        if self.nbytes > INLINE_BYTES:
            raise TooLarge(
                f"This array is not computed and has {words.size(self.nbytes)}; it is not made in"
                " passing. Write .compute() to compute and fetch it, or .submit(out='C.npy') to"
                " leave it in a file of the lab."
            )
        if copy is False:
            raise NotComputed("The numbers have to be computed first, so copy=False cannot hold.")
        return numpy.asarray(self.compute(), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Array:
        if ufunc is numpy.matmul and method == "__call__" and not options and len(inputs) == 2:
            left, right = inputs
            return left @ right if isinstance(left, Array) else self.__rmatmul__(left)
        raise NotComputed(_refusal(f"numpy.{ufunc.__name__}"))

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise NotComputed(_refusal(f"numpy.{function.__name__}"))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise NotComputed(_refusal("A truth value"))

    def __float__(self) -> float:
        raise NotComputed(_refusal("float()"))

    def __int__(self) -> int:
        raise NotComputed(_refusal("int()"))

    def __complex__(self) -> complex:
        raise NotComputed(_refusal("complex()"))

    def __index__(self) -> int:
        raise NotComputed(_refusal("An index"))

    def __iter__(self) -> Any:
        raise NotComputed(_refusal("Iteration"))

    def __getitem__(self, key: Any) -> Any:
        raise NotComputed(_refusal("Indexing"))

    def __contains__(self, value: Any) -> bool:
        raise NotComputed(_refusal("`in`"))

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        raise NotComputed(_refusal("Comparison"))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return (
            f"<gpugoblin.Array {self.source.label}: {words.shape(self.shape)} {self.dtype},"
            f" {words.size(self.nbytes)}, {_standing(self)}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("shape", words.shape(self.shape)),
            ("elements", f"{self.dtype}, {words.size(self.nbytes)}"),
        ]
        return cards.card(self.source.label, _standing(self), "calm", "", rows)


def _bracketed(operand: Array) -> str:
    label = operand.source.label
    return f"({label})" if isinstance(operand.source, Product) else label


def _standing(array: Array) -> str:
    computed = "not computed, " if isinstance(array.source, Product) else ""
    return f"{computed}{array.home.where}"


def _refusal(what: str) -> str:
    return (
        f"{what} needs the numbers, which are not computed. Compute the array first:"
        " .compute() gives a numpy array."
    )
