"""Arrays out of numbers, and out of nothing but attributes."""

from __future__ import annotations

import math
from typing import Any

import numpy

import gpugoblin.array as core
import gpugoblin.local as local
from gpugoblin.arrays import dtypes
from gpugoblin.arrays.axes import a_shape, whole
from gpugoblin.arrays.building import (
    Scalar,
    again,
    apply,
    array_of,
    broadcast,
    cast,
    default_dtype,
    of_kind,
    scalar,
)
from gpugoblin.arrays.dtypes import ALL, FLOATING, INTEGRAL, as_dtype
from gpugoblin.arrays.manipulation import stack
from gpugoblin.errors import BadArgument, DtypeUnsupported, ShapeMismatch

DEVICE = "here"


def asarray(
    obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None
) -> core.Array:
    """A lazy array from a number, nested lists of numbers, a numpy array or lazy arrays.

    Whole numbers become int64, others float64, truth values bool, unless `dtype` says otherwise.
    A numpy array is not copied unless `copy` is true. Raises `BadArgument`, `DtypeUnsupported`.
    """
    check_device(device)
    wanted = None if dtype is None else as_dtype(dtype).name
    if isinstance(obj, core.Array):
        return _again(obj, wanted, copy)
    if _holds_arrays(obj):
        return _again(stack([asarray(each) for each in obj]), wanted, None)
    content = _numbers(obj, wanted)
    if copy is False and not _shares(content, obj):
        raise BadArgument("copy=False cannot hold: the numbers have to be copied into an array.")
    if copy:
        content = content.copy()
    array = local.HOME.adopt(content)
    return array if wanted is None else cast(array, wanted)


def _again(array: core.Array, wanted: str | None, copy: bool | None) -> core.Array:
    made = array if wanted is None else cast(array, wanted)
    if copy is False and made is not array:
        raise BadArgument("copy=False cannot hold: another element type is another array.")
    # A value never changes, so another name for it is as good as a copy.
    return core.of_value(made.home, made.value) if copy else made


def _shares(content: numpy.ndarray[Any, Any], obj: Any) -> bool:
    return isinstance(obj, numpy.ndarray) and numpy.shares_memory(content, obj)


def _numbers(obj: Any, wanted: str | None) -> numpy.ndarray[Any, Any]:
    try:
        found = numpy.asarray(obj)
        if not hasattr(obj, "dtype") and _is_whole(found, obj):
            # Of Python's whole numbers it shows here whether they fit the type that they get.
            found = numpy.asarray(obj, wanted if wanted in INTEGRAL else "int64")
    except (TypeError, ValueError, OverflowError) as error:
        raise BadArgument(f"No array can be made of {type(obj).__name__}: {error}.") from None
    as_dtype(found.dtype)
    return found


def _is_whole(found: numpy.ndarray[Any, Any], obj: Any) -> bool:
    """Whether all are whole numbers; numpy makes floats of those that no integer type has."""
    if found.dtype.kind == "f" and found.size and numpy.abs(found).max() >= _PRECISE:
        return all(isinstance(each, int) for each in numpy.asarray(obj, object).flat)
    return found.dtype.kind in "iuO"


_PRECISE = 2.0**63


def _holds_arrays(obj: Any) -> bool:
    if isinstance(obj, list | tuple):
        return any(map(_holds_arrays, obj))
    return isinstance(obj, core.Array)


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> core.Array:
    """A lazy array over another library's array, without a copy where that is possible."""
    check_device(device)
    if isinstance(x, core.Array):
        return _again(x, None, copy)
    try:
        return local.HOME.adopt(numpy.from_dlpack(x, copy=copy))  # type: ignore[arg-type]
    except (BufferError, RuntimeError, AttributeError, TypeError) as error:
        raise BadArgument(f"{type(x).__name__} does not give its numbers: {error}.") from None


def full(
    shape: Any, fill_value: Scalar | core.Array, *, dtype: Any = None, device: str | None = None
) -> core.Array:
    """One number everywhere, an attribute of the graph: it takes no memory of its own.

    An array without axes is spread, in its own element type unless `dtype` says otherwise.
    """
    check_device(device)
    if isinstance(fill_value, core.Array) and not fill_value.shape:
        value = fill_value if dtype is None else cast(fill_value, as_dtype(dtype).name)
        return again(broadcast(value, a_shape(shape)))
    if not isinstance(fill_value, bool | int | float):
        raise BadArgument(f"fill_value must be a Python number, not {type(fill_value).__name__}.")
    name = default_dtype(fill_value) if dtype is None else as_dtype(dtype).name
    return _filled(a_shape(shape), fill_value, name)


def _filled(shape: tuple[int, ...], value: Scalar, name: str) -> core.Array:
    return scalar(_as_kind(value, name), name, shape)


def _as_kind(value: Scalar, name: str) -> Scalar:
    """0 and 1 may be asked of bool."""
    return bool(value) if name == "bool" and value in (0, 1) else value


def zeros(shape: Any, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Zeros; float64 unless `dtype` says otherwise."""
    check_device(device)
    return _filled(a_shape(shape), 0, _or_float64(dtype))


def ones(shape: Any, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Ones; float64 unless `dtype` says otherwise."""
    check_device(device)
    return _filled(a_shape(shape), 1, _or_float64(dtype))


def empty(shape: Any, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Zeros: a graph has no memory whose content is left open."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(
    x: core.Array,
    /,
    fill_value: Scalar | core.Array,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> core.Array:
    """One number everywhere, in the shape of `x`, and in its element type."""
    array = array_of(x)
    return full(array.shape, fill_value, dtype=_or_its(dtype, array), device=_its(device, array))


def zeros_like(x: core.Array, /, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Zeros in the shape of `x`, and in its element type."""
    array = array_of(x)
    return zeros(array.shape, dtype=_or_its(dtype, array), device=_its(device, array))


def ones_like(x: core.Array, /, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Ones in the shape of `x`, and in its element type."""
    array = array_of(x)
    return ones(array.shape, dtype=_or_its(dtype, array), device=_its(device, array))


def empty_like(x: core.Array, /, *, dtype: Any = None, device: str | None = None) -> core.Array:
    """Zeros in the shape of `x`, and in its element type."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: str | None = None,
) -> core.Array:
    """Ones on diagonal `k`, zeros elsewhere; float64 unless `dtype` says otherwise."""
    check_device(device)
    rows = whole(n_rows, "n_rows")
    columns = rows if n_cols is None else whole(n_cols, "n_cols")
    name = _or_float64(dtype)
    return apply("eye", rows=rows, columns=columns, offset=whole(k, "k"), dtype=name)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> core.Array:
    """start, start + step, ... below stop; with one number from 0 up to it.

    int64 if all are whole, else float64, unless `dtype` says otherwise. Raises `BadArgument`.
    """
    check_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    numbers = (first, last, step)
    if not all(isinstance(each, int | float) for each in numbers):
        raise BadArgument("arange() takes Python numbers.")
    if not step or not all(map(math.isfinite, numbers)):
        raise BadArgument(f"arange({first}, {last}, {step}) has no end.")
    whole_ones = all(isinstance(each, int) for each in numbers)
    name = ("int64" if whole_ones else "float64") if dtype is None else as_dtype(dtype).name
    if whole_ones and name in INTEGRAL:
        steps = range(int(first), int(last), int(step))
        return _whole_steps(steps.start, steps.step, len(steps), name)
    return _steps(first, step, max(0, math.ceil((last - first) / step)), name)


def _whole_steps(first: int, step: int, length: int, name: str) -> core.Array:
    low, high = dtypes.smallest(name), dtypes.largest(name)
    last = first + max(0, length - 1) * step
    if length and not (low <= first <= high and low <= last <= high):
        raise BadArgument(f"From {first} to {last}: {name} goes from {low} to {high}.")
    return apply("arange", start=first if length else 0, step=step if length > 1 else 1,
                 length=length, dtype=name)  # fmt: skip


def _steps(first: float, step: float, length: int, name: str) -> core.Array:
    if name not in FLOATING:
        raise DtypeUnsupported(f"arange({first}, step {step}) has parts that {name} can't hold.")
    # As the definition says: multiplied, not added up.
    counted = cast(apply("arange", start=0, step=1, length=length, dtype="int64"), "float64")
    return cast(counted * float(step) + float(first), name)


def linspace(
    start: int | float,
    stop: int | float,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: bool = True,
) -> core.Array:
    """`num` numbers at equal distances from `start` to `stop`, which is left out or the last."""
    check_device(device)
    count, name = whole(num, "num"), _or_float64(dtype)
    if count < 0 or name not in FLOATING:
        raise BadArgument(f"linspace() makes 0 or more floats, not {count} of {name}.")
    parts = count - 1 if endpoint else count
    counted = cast(apply("arange", start=0, step=1, length=count, dtype="int64"), "float64")
    step = (float(stop) - float(start)) / parts if parts > 0 else 0.0
    made = counted * step + float(start)
    if endpoint and count > 1:
        made[count - 1] = float(stop)
    return cast(made, name)


def tril(x: core.Array, /, *, k: int = 0) -> core.Array:
    """What is on and below diagonal `k` of the last two axes; 0 elsewhere."""
    return apply("tril", _matrices("tril", x), offset=whole(k, "k"))


def triu(x: core.Array, /, *, k: int = 0) -> core.Array:
    """What is on and above diagonal `k` of the last two axes; 0 elsewhere."""
    return apply("triu", _matrices("triu", x), offset=whole(k, "k"))


def _matrices(name: str, x: core.Array) -> core.Array:
    array = of_kind(name, array_of(x), ALL)
    if array.ndim < 2:
        raise ShapeMismatch(f"{name}() is of matrices, two axes or more, not {array.shape}.")
    return array


def meshgrid(*arrays: core.Array, indexing: str = "xy") -> list[core.Array]:
    """Coordinates of a grid from those along each axis: one array for each, all of one shape."""
    if indexing not in ("xy", "ij"):
        raise BadArgument(f"indexing must be 'xy' or 'ij', not {indexing!r}.")
    given = [array_of(each) for each in arrays]
    if any(each.ndim != 1 for each in given) or len({each.type.dtype for each in given}) > 1:
        raise BadArgument("meshgrid() takes arrays of one axis and of one element type.")
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    shape = tuple(given[each].shape[0] for each in order)
    made = []
    for number, each in enumerate(given):
        at = order.index(number)
        line = (1,) * at + each.shape + (1,) * (len(shape) - at - 1)
        made.append(broadcast(apply("reshape", each, shape=line), shape))
    return made


def check_device(device: str | None) -> None:
    """Arrays are made in this process: `here`. Raises `BadArgument` for other places."""
    if device not in (None, DEVICE):
        raise BadArgument(
            f"Arrays are made in this process, device {DEVICE!r}, not {device!r}. At a lab they are"
            " opened with lab.open(path) or put there with lab.array(x)."
        )


def _its(device: str | None, array: core.Array) -> str | None:
    """None where the device of an array is named for an array like it: constants go anywhere."""
    return None if device == array.device else device


def _or_its(dtype: Any, array: core.Array) -> Any:
    return array.dtype if dtype is None else dtype


def _or_float64(dtype: Any) -> str:
    return "float64" if dtype is None else as_dtype(dtype).name


__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
