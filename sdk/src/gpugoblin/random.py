"""Random numbers from keys: the same key and offset give the same numbers, on every machine.

Nothing is hidden: a key is an array of two words of 64 bits (uint64), an offset says where in the
stream of a key a draw begins, counted in blocks of four words. Draws of one key and offset are the
same numbers again; take another key for each draw.

>>> from gpugoblin import random
>>> noise, mask = random.split(random.key(7), 2)
>>> x = random.normal(noise, (4, 3)) * random.bernoulli(mask, 0.9, (4, 3)).astype("float64")

All are exact but `normal`, which is within 1 ulp on every machine. Philox 4x64-10; see
`opgraph.catalogue.random`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gpugoblin.array import Array
from gpugoblin.arrays.axes import a_shape, one_axis, whole
from gpugoblin.arrays.building import apply, array_of, broadcast, cast, constant, of_kind
from gpugoblin.arrays.dtypes import INTEGRAL, as_dtype, largest, smallest
from gpugoblin.arrays.indexing import shaped, take
from gpugoblin.errors import BadArgument, DtypeUnsupported, ShapeMismatch

_DERIVED = 2**63
"""Keys are derived from the blocks from here on; draws come from those before."""

_WORD = 2**64


def key(seed: int) -> Array:
    """The key of a seed, an integer from 0 to 2^128 - 1: two words, the lower one first."""
    number = whole(seed, "seed")
    if not 0 <= number < _WORD * _WORD:
        raise BadArgument("A seed is an integer from 0 to 2^128 - 1.")
    high, low = divmod(number, _WORD)
    return apply("concat", constant(low, "uint64", (1,)), constant(high, "uint64", (1,)), axis=0)


def fold_in(key: Array, number: int | Array) -> Array:
    """Another key, from a key and a number from 0 to 2^63 - 1: a step, a sample, a layer.

    `number` may be a lazy integer, so that each step of `gpugoblin.repeat` has a key of its own.
    """
    if isinstance(number, Array):
        step = cast(_scalar("number", number), "uint64")
    else:
        step = constant(_below_2_63(number, "number"), "uint64")
    offset = apply("add", step, constant(_DERIVED, "uint64"))
    return apply("random_bits", _a_key(key), offset, shape=(4,))[:2]


def split(key: Array, count: int = 2) -> tuple[Array, ...]:
    """So many keys from one: number i is `fold_in(key, i)`."""
    many = whole(count, "count")
    if not 0 < many <= 2**16:
        raise BadArgument(f"split() gives 1 to 65,536 keys, not {many}.")
    words = apply("random_bits", _a_key(key), constant(_DERIVED, "uint64"), shape=(many, 4))
    return tuple(words[place, :2] for place in range(many))


def blocks(shape: int | tuple[int, ...]) -> int:
    """How many blocks a draw of this shape takes of its stream: the next one may begin there."""
    return -(-prod(a_shape(shape)) // 4)


def bits(key: Array, shape: int | tuple[int, ...] = (), *, offset: int | Array = 0) -> Array:
    """Words of 64 random bits (uint64)."""
    return apply("random_bits", _a_key(key), _at(offset), shape=a_shape(shape))


def uniform(
    key: Array,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = "float64",
    offset: int | Array = 0,
) -> Array:
    """Uniform in [0, 1): multiples of 2^-53 (float64) or 2^-24 (float32)."""
    return _floats("random_uniform", key, shape, dtype, offset)


def normal(
    key: Array,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = "float64",
    offset: int | Array = 0,
) -> Array:
    """Standard normal: mean 0, variance 1 (float64 or float32)."""
    return _floats("random_normal", key, shape, dtype, offset)


def _floats(
    operator: str, key: Array, shape: int | tuple[int, ...], dtype: Any, offset: int | Array
) -> Array:
    name = as_dtype(dtype).name
    if name not in ("float32", "float64"):
        raise DtypeUnsupported(
            f"Random floats are float32 or float64, not {name}; cast them: .astype({name!r})."
        )
    return apply(operator, _a_key(key), _at(offset), shape=a_shape(shape), dtype=name)


def bernoulli(
    key: Array,
    probability: float,
    shape: int | tuple[int, ...] = (),
    *,
    offset: int | Array = 0,
) -> Array:
    """True with this probability, rounded to a multiple of 2^-53 (bool)."""
    if type(probability) not in (int, float) or not 0 <= probability <= 1:
        raise BadArgument(f"A probability is a number from 0 to 1, not {probability!r}.")
    return apply(
        "random_bernoulli",
        _a_key(key),
        _at(offset),
        shape=a_shape(shape),
        probability=float(probability),
    )


def randint(
    key: Array,
    low: int,
    high: int,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = "int64",
    offset: int | Array = 0,
) -> Array:
    """Integers from `low` to `high` - 1, each as likely as any other but for (high - low) / 2^64.

    At most 2^63 different ones. Raises `BadArgument` for those that the dtype does not have.
    """
    first, last, name = whole(low, "low"), whole(high, "high") - 1, as_dtype(dtype).name
    if name not in INTEGRAL:
        raise DtypeUnsupported(f"randint() makes integers, not {name}.")
    if not smallest(name) <= first <= last <= largest(name) or last - first >= 2**63:
        raise BadArgument(f"There is no {name} from {low} to below {high}, or more than 2^63.")
    words = bits(key, shape, offset=offset)
    span = broadcast(constant(last - first + 1, "uint64"), words.shape)
    found = cast(apply("remainder", words, span), name)
    return apply("add", found, broadcast(constant(first, name), words.shape))


def permutation(key: Array, x: int | Array, *, axis: int = 0, offset: int | Array = 0) -> Array:
    """The numbers from 0 to x - 1 in random order, or the slices of an array along an axis."""
    if not isinstance(x, Array):
        length = whole(x, "x")
        if length < 0:
            raise BadArgument(f"There are no {length} numbers to put in order.")
        return apply("random_permutation", _a_key(key), _at(offset), length=length)
    along = one_axis(axis, x.ndim)
    return take(x, permutation(key, x.shape[along], offset=offset), axis=along)


def _a_key(key: Any) -> Array:
    if not isinstance(key, Array) or key.shape != (2,) or key.type.dtype != "uint64":
        raise BadArgument(
            "A key is an array of two words (uint64): make one with gpugoblin.random.key(seed),"
            " or several with gpugoblin.random.split(key, count)."
        )
    return key


def _at(offset: int | Array) -> Array:
    if isinstance(offset, Array):
        return cast(_scalar("offset", offset), "uint64")
    return constant(_below_2_63(offset, "offset"), "uint64")


def _scalar(name: str, x: Array) -> Array:
    array = of_kind(name, array_of(x), INTEGRAL)
    if array.size != 1:
        raise ShapeMismatch(f"{name} is one integer, not {array.shape}.")
    return shaped(array, ())


def _below_2_63(number: Any, name: str) -> int:
    found = whole(number, name)
    if not 0 <= found < _DERIVED:
        raise BadArgument(f"{name}={found}: it goes from 0 to 2^63 - 1.")
    return found


__all__ = [
    "bernoulli", "bits", "blocks", "fold_in", "key", "normal", "permutation", "randint", "split",
    "uniform",
]  # fmt: skip
