"""Lazy arrays: a shape, an element type, and how the numbers would be made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy
from numpy.typing import NDArray

from goblin_wire.protocol import INLINE_BYTES
from gpugoblin import cards, words
from gpugoblin.arrays import operators, products
from gpugoblin.arrays.dtypes import Dtype, as_dtype, by_name
from gpugoblin.arrays.origin import at, users_line
from gpugoblin.arrays.values import Applied, Leaf, Product, Source, Value, leaf_of
from gpugoblin.errors import BadArgument, NotComputed, TooLarge
from opgraph.tensors import TensorType

if TYPE_CHECKING:
    from gpugoblin.explanation import Explanation
    from gpugoblin.job import Job

Shape = tuple[int, ...]


class Home(Protocol):
    """Where arrays live and are computed: a lab, this process, or nowhere (assumed ones)."""

    @property
    def where(self) -> str:
        """For sentences: `at /home/ada/lab`, `in this process`."""

    @property
    def device(self) -> str:
        """The same in one word, as the standard's `device`: `lab`, `here`, `assumed`."""

    @property
    def is_here(self) -> bool:
        """Whether arrays are computed in this process."""

    def adopt(self, x: Any) -> Array:
        """An array of this home from any library's array, for a product."""

    def joining(self, x: Any) -> Array:
        """The same for any other operator. Raises `NotComputed` where numbers would travel."""

    def owns(self, other: Array) -> bool:
        """Whether `other` can be computed with arrays of this home."""

    def numbers(self, array: Array, **options: Any) -> NDArray[Any]:
        """The numbers, computed if they have to be."""

    def known(self, array: Array) -> NDArray[Any] | None:
        """The numbers, if they are there or may be had in passing; bfloat16 as float32."""

    def explain(self, array: Array, **options: Any) -> Explanation:
        """What computing the array would take."""

    def submit(self, array: Array, **options: Any) -> Job:
        """Hand the computation over."""


class Array(operators.Operators):
    """A lazy array: operators and the functions of `gpugoblin.xp` build a graph.

    Shapes and types are checked at each line; nothing is computed before `compute()` or
    `submit()`, and `explain()` says what that would take. Made by `lab.open`, `lab.array`,
    `gpugoblin.local.array`, `gpugoblin.assume` and the functions of `gpugoblin.xp`.
    """

    __slots__ = ("__weakref__", "home", "value")

    def __init__(self, home: Home, shape: Shape, dtype: Dtype, source: Source) -> None:
        self.home = home
        self.value = Value(source, TensorType(dtype.name, tuple(int(each) for each in shape)))

    @property
    def source(self) -> Source:
        return self.value.source

    @property
    def type(self) -> TensorType:
        """Shape and name of the element type, as in a graph."""
        return self.value.type

    @property
    def shape(self) -> Shape:
        return self.value.type.shape

    @property
    def dtype(self) -> Any:
        """A numpy dtype, or `gpugoblin.xp.bfloat16`."""
        return by_name(self.value.type.dtype)

    @property
    def device(self) -> str:
        """`lab`, `here` (this process) or `assumed`."""
        return self.home.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers, wherever they are."""
        return self.value.type.nbytes

    @property
    def T(self) -> Array:
        """The transpose of a matrix. Raises `ShapeMismatch` for other numbers of axes."""
        return products.transpose(self)

    @property
    def mT(self) -> Array:
        """The last two axes exchanged. Raises `ShapeMismatch` below two axes."""
        return products.matrix_transpose(self)

    def __matmul__(self, other: Any) -> Array:
        """The product, lazily. Raises `ShapeMismatch` or `DtypeUnsupported` here and now."""
        return products.product(self, self._adopted(other))

    def __rmatmul__(self, other: Any) -> Array:
        return products.product(self._adopted(other), self)

    def __imatmul__(self, other: Any) -> Array:
        result = self @ other
        if result.type != self.type:
            raise BadArgument(f"In place an array stays {self.type}; the product is {result.type}.")
        self.become(result)
        return self

    def _adopted(self, other: Any) -> Array:
        return other if isinstance(other, Array) else self.home.adopt(other)

    def become(self, other: Array) -> None:
        """Take another array's value: what setting items and operators in place do."""
        self.home, self.value = other.home, other.value

    def astype(self, dtype: Any) -> Array:
        """The same values in another element type; the rules are `gpugoblin.xp.astype`'s."""
        from gpugoblin.arrays.building import again, cast

        return again(cast(self, as_dtype(dtype).name))

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """The array itself, which stays where it is. Raises `BadArgument` for another place."""
        if stream is None and device == self.device:
            return self
        raise BadArgument(
            f"The array is {self.home.where} and stays there: device {device!r} is another place."
            " Numbers move by compute() and lab.array() alone."
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
        """The numbers that are here, or of a small array; a large one is never made in passing."""
        here = leaf_of(self.value)
        if here is not None and here.content is not None and self.type.dtype != "bfloat16":
            return numpy.array(here.content, dtype=dtype, copy=copy)
        self._require_small()
        if copy is False:
            raise NotComputed("The numbers have to be computed first, so copy=False cannot hold.")
        return numpy.asarray(self.compute(), dtype=dtype)

    def _require_small(self) -> None:
        if self.nbytes > INLINE_BYTES:
            raise TooLarge(
                f"{words.size(self.nbytes)} ({words.shape(self.shape)} {self.dtype}) are not made"
                f" in passing{at(users_line())}: this array is not computed. Write .compute() to"
                " compute and fetch it, or .submit(out='C.npy') to leave it in a file of the lab."
            )

    def __dlpack__(self, **options: Any) -> Any:
        """The numbers of a small array, computed, for another library."""
        return self.__array__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Array:
        if method == "__call__" and not options and len(inputs) == 2:
            if ufunc is numpy.matmul:
                left, right = inputs
                return left @ right if isinstance(left, Array) else self.__rmatmul__(left)
            made = operators.by_ufunc(ufunc, inputs)
            if made is not None:
                return made
        raise NotComputed(_not_numpys(ufunc.__name__))

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise NotComputed(_not_numpys(function.__name__))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`gpugoblin.xp`, which follows the Array API 2024.12. Raises `BadArgument` for others."""
        from gpugoblin import xp

        if api_version not in (None, xp.__array_api_version__):
            raise BadArgument(
                f"This follows the Array API {xp.__array_api_version__}, not {api_version}."
            )
        return xp

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self._number("A truth value"))

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __index__(self) -> int:
        if self.type.dtype == "bool" or self.dtype.kind not in "iu":
            raise NotComputed(f"An index is an integer, not {self.dtype}{at(users_line())}.")
        return int(self._number("An index"))

    def _number(self, what: str) -> Any:
        """The one number of an array that has no axes; refused where it isn't there."""
        if self.shape:
            raise NotComputed(
                f"{what} is of one number; this array is {words.shape(self.shape)}"
                f"{at(users_line())}. Reduce it first: gpugoblin.xp.any(x), .all(x), .sum(x)."
            )
        known = self.home.known(self)
        if known is None:
            raise NotComputed(self._refusal(what))
        return known.item()

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise NotComputed(f"An array without axes has nothing to go through{at(users_line())}.")
        if self.home.is_here:
            return iter([self[place] for place in range(self.shape[0])])
        raise NotComputed(self._refusal("Iteration"))

    def __contains__(self, value: Any) -> bool:
        raise NotComputed(self._refusal("`in`"))

    def __copy__(self) -> Array:
        return of_value(self.home, self.value)

    def __deepcopy__(self, _memo: Any) -> Array:
        """As `copy.copy`: values never change."""
        return of_value(self.home, self.value)

    def __getattr__(self, name: str) -> Any:
        """Says where numpy's methods are. Raises AttributeError."""
        from gpugoblin import xp

        there = not name.startswith("_") and callable(getattr(xp, name, None))
        hint = f"; it is a function here: gpugoblin.xp.{name}(x)" if there else ""
        raise AttributeError(f"An Array has no attribute {name!r}{hint}.")

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

    def _refusal(self, what: str) -> str:
        made = self.source.application if isinstance(self.source, Applied) else None
        written = f" {made}{at(made.line)}," if made else f" {self.source.label},"
        return (
            f"{what}{at(users_line())} needs the numbers of{written} which are not computed."
            " Compute the array first: .compute() gives a numpy array. For a choice by element"
            " write gpugoblin.xp.where."
        )


def of_value(home: Home, value: Value) -> Array:
    """An array over a value of a graph."""
    array = Array.__new__(Array)
    array.home, array.value = home, value
    return array


def _standing(array: Array) -> str:
    computed = "" if isinstance(array.source, Leaf) else "not computed, "
    return f"{computed}{array.home.where}"


def _not_numpys(name: str) -> str:
    return (
        f"numpy.{name} needs the numbers, which are not computed{at(users_line())}. Write"
        f" gpugoblin.xp.{name} where there is one, or compute the array first: .compute() gives a"
        " numpy array."
    )


__all__ = ["Array", "Home", "Leaf", "Product", "Source", "Value", "of_value"]
