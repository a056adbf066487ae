"""What a computation would take on an assumed network: no lab, no account, no numbers needed."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gpugoblin.array import Array, Leaf
from gpugoblin.arrays.dtypes import as_dtype
from gpugoblin.errors import NotComputed, Problem
from gpugoblin.explanation import Explanation, impossible, planned
from gpugoblin.graphs import single_product, sizes
from gpugoblin.operands import Shape
from opgraph.errors import PlanError
from opgraph.partition.choice import choose_plan
from opgraph.partition.estimate import estimate
from opgraph.partition.figures import LabFigures, NetworkFigures

if TYPE_CHECKING:
    from gpugoblin.job import Job

HOME_NETWORK = NetworkFigures(
    devices=50,
    memory_bytes=4 << 30,
    flops_per_s=1e11,
    down_bytes_per_s=100e6 / 8,
    up_bytes_per_s=20e6 / 8,
)
"""Fifty machines at home: 4 GiB for a unit, two good CPU cores, 100 Mbit/s down, 20 up."""

GIGABIT = 1e9 / 8
CHECK_SHARE = 0.1
"""Checks read their numbers once: about this share of the speed of a product."""
_SIDE = 1024


class Assumed:
    """The home of arrays that only have a shape."""

    def adopt(self, x: Any) -> Array:
        return assume(x.shape, x.dtype)

    def joining(self, x: Any) -> Array:
        return assume(x.shape, x.dtype)

    def known(self, _array: Array) -> None:
        """Nothing: there are no numbers."""

    @property
    def device(self) -> str:
        return "assumed"

    @property
    def is_here(self) -> bool:
        return False

    def owns(self, _other: Array) -> bool:
        return True

    def numbers(self, array: Array, **_: Any) -> NDArray[Any]:
        raise NotComputed(
            f"{array.source.label} is only assumed, there are no numbers; explain() is all that it"
            " can do."
        )

    def explain(self, array: Array, **options: Any) -> Explanation:
        return explain(array, **options)

    def submit(self, array: Array, **_: Any) -> Job:
        raise NotComputed(
            f"{array.source.label} is only assumed; open arrays of a lab to submit a computation:"
            " gpugoblin.connect().open(path)."
        )

    @property
    def where(self) -> str:
        return "assumed"


HOME = Assumed()


def assume(shape: Shape, dtype: Any = "float32") -> Array:
    """An array that has only a shape, to ask what a computation with such a one would take."""
    kind = as_dtype(dtype)
    leaf = Leaf(f"assumed{tuple(shape)}", "assumed")
    return Array(HOME, tuple(shape), kind, leaf)


def explain(
    array: Array,
    *,
    network: NetworkFigures = HOME_NETWORK,
    lab: LabFigures | None = None,
    memory: int | None = None,
    grade: str = "standard",
) -> Explanation:
    """The plan of `array` on a network with these figures; `lab` is this machine by default.

    A plan that is impossible is returned with its reason; nothing is raised.
    """
    figures = lab or this_machine()
    try:
        product = single_product(array)
        capped = _capped(network, memory)
        plan = choose_plan(*sizes(product), array.dtype.name, capped, figures)
    except PlanError as error:
        return impossible(array, error.code, error.message, grade)
    except Problem as problem:
        return impossible(array, problem.code, problem.detail, grade)
    return planned(array, plan, estimate(plan, network, figures), network, grade)


@cache
def this_machine() -> LabFigures:
    """This machine as a lab's: its measured speed at a product, and a gigabit of network."""
    speed = max(_measured_speed() for _ in range(3))
    return LabFigures(
        flops_per_s=speed,
        uplink_bytes_per_s=GIGABIT,
        downlink_bytes_per_s=GIGABIT,
        verify_flops_per_s=speed * CHECK_SHARE,
    )


def _measured_speed() -> float:
    factor = numpy.ones((_SIDE, _SIDE), numpy.float32)
    began = time.perf_counter()
    factor @ factor
    return 2.0 * _SIDE**3 / (time.perf_counter() - began)


def _capped(network: NetworkFigures, memory: int | None) -> NetworkFigures:
    if memory is None:
        return network
    return replace(network, memory_bytes=min(network.memory_bytes, memory))
