"""Arguments of reductions, sorting and searching that do not fit, and 16-bit floats.

That the numbers are right is asked in tests/conformance/array_api.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gpugoblin import errors, local, xp


def _zeros(*shape: int, dtype: Any = "float64") -> Any:
    return local.array(numpy.zeros(shape, dtype))


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: xp.sum(_zeros(2, dtype=bool)), errors.DtypeUnsupported, "sum"),
        (lambda: xp.sum(_zeros(2), dtype=xp.bool), errors.DtypeUnsupported, "not bool"),
        (lambda: xp.sum(_zeros(2), axis=1), errors.BadArgument, "axis=1"),
        (lambda: xp.sum(_zeros(2, 2), axis=(0, -2)), errors.BadArgument, "named twice"),
        (lambda: xp.mean(_zeros(2, dtype="int64")), errors.DtypeUnsupported, "floats"),
        (lambda: xp.var(_zeros(2), correction="1"), errors.BadArgument, "correction"),
        (lambda: xp.std(_zeros(2), correction=float("nan")), errors.BadArgument, "finite"),
        (lambda: xp.max(_zeros(0)), errors.ShapeMismatch, "nothing to choose"),
        (lambda: xp.argmin(_zeros(3, 0), axis=1), errors.ShapeMismatch, "nothing to choose"),
        (lambda: xp.argmax(_zeros(2, dtype=bool)), errors.DtypeUnsupported, "argmax"),
        (lambda: xp.cumulative_sum(_zeros(2, 2)), errors.ShapeMismatch, "which axis"),
        (lambda: xp.diff(_zeros(2), n=-1), errors.BadArgument, "-1 times"),
        (lambda: xp.sort(_zeros()), errors.ShapeMismatch, "none"),
        (lambda: xp.sort(_zeros(2), axis=2), errors.BadArgument, "axis=2"),
        (lambda: xp.searchsorted(_zeros(2, 2), _zeros(2)), errors.ShapeMismatch, "one axis"),
        (lambda: xp.searchsorted(_zeros(2), _zeros(2), side="up"), errors.BadArgument, "side"),
        (
            lambda: xp.searchsorted(_zeros(2), _zeros(2), sorter=_zeros(2)),
            errors.DtypeUnsupported,
            "integers",
        ),
        (lambda: xp.all([True]), errors.BadArgument, "asarray"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_what_is_searched_must_rise() -> None:
    made = xp.searchsorted(local.array(numpy.array([2.0, 1.0])), _zeros(1))
    with pytest.raises(errors.ComputationFailed, match=r"test_statistics\.py") as raised:
        made.compute()
    assert raised.value.facts["reason"] == "not_sorted"


@pytest.mark.parametrize("dtype", [xp.float16, xp.bfloat16])
def test_sixteen_bits_are_added_in_float32_and_keep_their_type(dtype: Any) -> None:
    x = xp.ones(5000, dtype=xp.float32).astype(dtype)
    made = xp.sum(x)
    assert made.dtype == dtype
    # Added in 11 or 8 bits of precision it would have stopped at 2048 or 256.
    assert float(made.astype(xp.float32).compute()) == pytest.approx(5000, rel=2**-7)
    assert xp.sum(x, dtype=xp.float32).compute() == 5000


def test_nothing_is_said_about_the_mean_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    assert numpy.isnan(xp.mean(_zeros(0)).compute())
    assert numpy.isnan(xp.var(_zeros(3, 0), axis=1).compute()).all()
    assert not recwarn.list


def test_nan_is_above_all_numbers() -> None:
    x = local.array(numpy.array([numpy.nan, 1.0, -1.0]))
    assert xp.argsort(x).compute().tolist() == [2, 1, 0]
    assert xp.argsort(x, descending=True).compute().tolist() == [0, 1, 2]
    assert xp.argmax(x).compute() == 0


def test_equal_ones_keep_their_order_in_both_directions() -> None:
    x = local.array(numpy.array([1, 0, 1, 0]))
    assert xp.argsort(x).compute().tolist() == [1, 3, 0, 2]
    assert xp.argsort(x, descending=True).compute().tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x[...],
        lambda x: xp.reshape(x, x.shape),
        lambda x: xp.permute_dims(x, (0,)),
        lambda x: xp.broadcast_to(x, x.shape),
        lambda x: xp.broadcast_arrays(x)[0],
        lambda x: x.astype(x.dtype),
        lambda x: xp.squeeze(x, ()),
        lambda x: xp.clip(x),
        lambda x: xp.diff(x, n=0),
        lambda x: xp.einsum("i->i", x),
        lambda x: +x,
    ],
)
def test_what_changes_nothing_gives_a_name_of_its_own(same: Any) -> None:
    x = _zeros(3)
    y = same(x)
    x[0] = 1.0
    assert y.compute().tolist() == [0, 0, 0]
