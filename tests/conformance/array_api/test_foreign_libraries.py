"""Code written for the standard and not for us: signatures, attributes, hypothesis's strategies."""

from __future__ import annotations

import inspect
from typing import Any

import array_api_strict
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

from gpugoblin import Array, local, xp
from tests.conformance.array_api import comparison, part, standard

XPS = make_strategies_namespace(xp, api_version=standard.VERSION)

_STRICTS_OWN = {
    ("astype", "device"): "its default is a marker of the library's own",
    ("expand_dims", "axis"): "the standard has it by name, and 0 where it is left out",
}
"""Parameters in which array-api-strict differs from the standard."""


@pytest.mark.parametrize("name", part.QUESTIONS)
def test_signatures_are_those_of_the_standard(name: str) -> None:
    ours = inspect.signature(comparison.our_function(name)).parameters
    for each, theirs in inspect.signature(comparison.strict_function(name)).parameters.items():
        if (name, each) in _STRICTS_OWN:
            assert each in ours
        else:
            assert (ours[each].kind, ours[each].default) == (theirs.kind, theirs.default), each


def test_the_array_object_has_what_the_standard_asks_for() -> None:
    theirs = {
        name
        for name in dir(array_api_strict._array_object.Array)
        if not name.startswith("_") or name.startswith("__")
    }
    # Python's protocol for memory (there is none before it is computed), and notes on types.
    assert theirs - {"__buffer__", "__annotations__"} <= set(dir(Array))


@settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_hypothesiss_strategies_for_the_standard_make_our_arrays(data: Any) -> None:
    with local.on_demand():
        dtype = data.draw(XPS.boolean_dtypes() | XPS.real_dtypes())
        shape = data.draw(XPS.array_shapes(max_dims=3, max_side=4))
        x = data.draw(XPS.arrays(dtype, shape, unique=data.draw(st.booleans()) and shape == (3,)))
        assert isinstance(x, Array)
        assert (x.dtype, x.shape) == (dtype, shape)
        y = x[data.draw(XPS.indices(shape, allow_ellipsis=True))]
        assert xp.any(xp.equal(y, y)) or xp.all(xp.not_equal(y, y))
        other = data.draw(XPS.broadcastable_shapes(shape, max_dims=3, max_side=4))
        numpy.broadcast_shapes(shape, other)
        axis = data.draw(XPS.valid_tuple_axes(len(shape)))
        assert xp.flip(x, axis=axis).shape == shape
