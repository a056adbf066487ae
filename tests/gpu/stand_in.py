"""A module that computes with numpy and refuses what cupy refuses.

The catalogue's GPU code runs on it where no GPU is: a function that cupy lacks, an argument that
it does not take, an operand that it would not convert, a ufunc without the types, all raise. How a
GPU rounds, and what its kernels give, is not asked here: a kernel's arguments are kept for the
compiler, and its results are left as zeros.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy

from tests.gpu.signatures import UFUNC_OPTIONS, bind, table

SCALARS = (bool, int, float, numpy.generic)


class Device:
    """An array as cupy has them: numpy takes none, and it takes none of numpy's."""

    __array_priority__ = 100

    def __init__(self, array: Any) -> None:
        self._array = numpy.asarray(array)

    def __array__(self, *_args: Any, **_options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            raise TypeError(f"cupy does not take over {ufunc.__name__}.{method}.")
        return Ufunc(ufunc.__name__)(*inputs, **options)

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Any:
        return getattr(STAND_IN, function.__name__)(*args, **options)

    def get(self) -> Any:
        """As a numpy array."""
        return self._array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in table()["attributes"]:
            return _wrapped(getattr(self._array, name)) if name in ("T", "mT") else getattr(
                self._array, name)  # fmt: skip
        if name in table()["methods"]:
            return _Function(f"ndarray.{name}", table()["methods"][name],
                             getattr(self._array, name))  # fmt: skip
        raise AttributeError(f"cupy.ndarray has no {name}.")

    def __getitem__(self, place: Any) -> Any:
        return _wrapped(self._array[_place(place)])

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(value, numpy.ndarray):
            raise TypeError("cupy sets items to its own arrays and to numbers.")
        self._array[_place(place)] = _plain(value)

    def __len__(self) -> int:
        return len(self._array)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __float__(self) -> float:
        return float(self._array)

    def __index__(self) -> int:
        return operator.index(self._array)


def _operators() -> None:
    names = {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "mod": "remainder",
        "floordiv": "floor_divide", "pow": "power", "matmul": "matmul", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
    }  # fmt: skip
    for short, name in names.items():
        setattr(Device, f"__{short}__", _binary(name))
        setattr(Device, f"__r{short}__", _binary(name, turned=True))
        setattr(Device, f"__i{short}__", _in_place(name))
    compared = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                "eq": "equal", "ne": "not_equal"}  # fmt: skip
    for short, name in compared.items():
        setattr(Device, f"__{short}__", _binary(name))
    for short, name in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(Device, f"__{short}__", _unary(name))


def _binary(name: str, turned: bool = False) -> Callable[[Any, Any], Any]:
    def run(left: Any, right: Any) -> Any:
        pair = (right, left) if turned else (left, right)
        return getattr(STAND_IN, name)(*pair)

    return run


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    return lambda left, right: getattr(STAND_IN, name)(left, right, out=left)


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda operand: getattr(STAND_IN, name)(operand)


def _plain(value: Any) -> Any:
    """What numpy computes with."""
    if isinstance(value, Device):
        return value._array
    if isinstance(value, numpy.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, list | tuple):
        return type(value)(_plain(each) for each in value)
    return value


def _place(place: Any) -> Any:
    if isinstance(place, tuple):
        return tuple(map(_place, place))
    # An index may be an array of numpy: cupy copies that over.
    return place._array if isinstance(place, Device) else place


def _wrapped(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_wrapped, value))
    # cupy gives arrays without axes where numpy gives numbers.
    return Device(value) if isinstance(value, numpy.ndarray | numpy.generic) else value


@dataclass(frozen=True)
class _Function:
    """A function of numpy, called as cupy's is declared."""

    name: str
    parameters: Any
    function: Callable[..., Any]

    def __call__(self, *args: Any, **options: Any) -> Any:
        bind(self.parameters, self.name, args, options)
        plain = {name: _plain(value) for name, value in options.items()}
        target = options.get("out")
        result = self.function(*map(_plain, args), **plain)
        return target if target is not None else _wrapped(result)


@dataclass(frozen=True)
class Ufunc:
    """A ufunc of numpy, with the types and options of cupy's."""

    name: str

    def __call__(self, *args: Any, **options: Any) -> Any:
        theirs = _ufuncs().get(self.name)
        if theirs is None:
            return _function(self.name)(*args, **options)
        if wrong := options.keys() - UFUNC_OPTIONS:
            raise TypeError(f"cupy.{self.name} takes no {', '.join(sorted(wrong))}.")
        out = options.pop("out", None)
        out = out[0] if isinstance(out, tuple) else out
        if len(args) > theirs["nin"]:
            *args, out = args  # type: ignore[assignment]
        result = self._computed(theirs, [_operand(each) for each in args], options)
        if out is None:
            return _wrapped(result)
        if isinstance(out, Device):
            numpy.copyto(out._array, result, casting="same_kind")
            return out
        raise TypeError("cupy writes into its own arrays only.")

    def _computed(self, theirs: Any, args: list[Any], options: Any) -> Any:
        function = getattr(numpy, self.name)
        result = function(*args, **options)
        if "dtype" not in options:
            _check_types(self.name, theirs["types"], args, result)
        return result

    def reduceat(self, array: Any, indices: Any, axis: int = 0) -> Any:
        """cupy has it for `add` only."""
        if self.name != "add":
            raise NotImplementedError(f"cupy.{self.name}.reduceat")
        return Device(numpy.add.reduceat(_plain(array), _plain(indices), axis=axis))


def _operand(value: Any) -> Any:
    if isinstance(value, Device):
        return value._array
    if isinstance(value, SCALARS):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


def _check_types(name: str, types: list[str], args: list[Any], result: Any) -> None:
    """cupy takes the first row of its table that the operands can be cast to, as numpy does."""
    dtypes = [each.dtype for each in args if hasattr(each, "dtype")]
    dtypes = dtypes or [numpy.result_type(each) for each in args]
    for row in types:
        before, _, after = row.partition("->")
        if all(numpy.can_cast(given, wanted) for given in dtypes for wanted in set(before)):
            if numpy.dtype(after[0]) != numpy.asarray(result).dtype:
                raise TypeError(f"cupy.{name} of {dtypes} gives {after}, numpy's {result.dtype}.")
            return
    raise TypeError(f"cupy.{name} is not for {dtypes}.")


def _ufuncs() -> Any:
    return table()["ufuncs"]


def _function(name: str) -> _Function:
    if name not in table()["functions"]:
        raise AttributeError(f"cupy has no {name}.")
    found = numpy
    for part in name.split("."):
        found = getattr(found, part)
    return _Function(name, table()["functions"][name], found)  # type: ignore[arg-type]


@dataclass
class Kernel:
    """An ElementwiseKernel; `calls` are the arguments of each call: dtype, and whether arrays."""

    in_params: str
    out_params: str
    operation: str
    name: str
    options: tuple[str, ...] = ()
    calls: list[tuple[tuple[str, bool], ...]] = field(default_factory=list)

    def __call__(self, *args: Any, size: int | None = None) -> None:
        count = len([each for each in f"{self.in_params},{self.out_params}".split(",") if each])
        if len(args) != count:
            raise TypeError(f"{self.name} takes {count} arguments, not {len(args)}.")
        if not any(isinstance(each, Device) for each in args):
            raise TypeError(f"{self.name} takes at least one array.")
        if "raw" in self.out_params and size is None:
            raise ValueError("Loop size is undecided.")
        for each in args:
            if isinstance(each, Device):
                continue
            if not isinstance(each, SCALARS):
                raise TypeError(f"{self.name} takes no {type(each)}.")
        self.calls.append(
            tuple((str(numpy.asarray(_plain(a)).dtype), isinstance(a, Device)) for a in args)
        )
        args[-1]._array[...] = 0


class StandIn:
    """What the catalogue gets as `xp`. `kernels` are all that were made."""

    def __init__(self) -> None:
        stream = SimpleNamespace(synchronize=lambda: None)
        self.cuda = SimpleNamespace(get_current_stream=lambda: stream)
        self.kernels: list[Kernel] = []
        self.linalg = SimpleNamespace(
            solve=_function("linalg.solve"), cholesky=_function("linalg.cholesky")
        )

    def __hash__(self) -> int:
        return id(self)

    def ElementwiseKernel(self, *args: Any, **options: Any) -> Kernel:
        """Keep a kernel."""
        self.kernels.append(Kernel(*args, **options))
        return self.kernels[-1]

    def asarray(self, value: Any, dtype: Any = None) -> Device:
        """The one way in for arrays of numpy."""
        return Device(numpy.asarray(value.get() if isinstance(value, Device) else value, dtype))

    def __getattr__(self, name: str) -> Any:
        if name in table()["types"]:
            return getattr(numpy, name)
        if name in _ufuncs():
            return Ufunc(name)
        return _function(name)


def as_strided(array: Any, shape: Any = None, strides: Any = None) -> Device:
    """As `cupy.lib.stride_tricks.as_strided`."""
    call = _function("lib.stride_tricks.as_strided")
    bind(call.parameters, call.name, (array, shape, strides), {})
    return Device(numpy.lib.stride_tricks.as_strided(_plain(array), shape, strides))


@contextmanager
def errstate(**_options: Any) -> Any:
    """As `cupyx.errstate`."""
    yield


_operators()
STAND_IN = StandIn()
