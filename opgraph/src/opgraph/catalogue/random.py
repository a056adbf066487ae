"""Random numbers from counters: Philox 4x64-10 (Salmon, Moraes, Dror, Shaw: Parallel random
numbers, as easy as 1, 2, 3; SC 2011).

A word is a function of key and position, so any part of a stream can be made anywhere. The key is
two words, the offset the number of the first block of four words; word i of the result is word
i mod 4 of block offset + i // 4. Same key, offset and shape: same bits on every machine, but for
`random_normal`: within 1 ulp in float32, within 4 in float64, where it is computed in the dtype
itself and logarithm, root, cosine and product each add a rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy

from opgraph.catalogue import philox
from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers, number
from opgraph.catalogue.declaration import (
    Call,
    Count,
    ErrorRule,
    Implementation,
    Operator,
    ShapeRule,
    Types,
    Work,
)
from opgraph.catalogue.rules import EXACT_FROM_ATTRIBUTES
from opgraph.catalogue.sorting import steps_of_search
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, Array, Shape

_FAMILY = "random"
_SHAPE = Attribute("shape", "integers", "the shape of the result")
_DTYPE = Attribute("dtype", "dtype", "the dtype of the result")
_NONE = "There are no special values."


def _shape_of(shapes: Sequence[Shape], result: Shape) -> tuple[Shape, ...]:
    if shapes[0] != (2,) or shapes[1] != ():
        raise GraphError("wrong_shape", "A key has two words, an offset is one number.")
    if min(result, default=0) < 0:
        raise GraphError("wrong_shape", f"{list(result)} has a negative size.")
    return (result,)


def _given_shape(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    return _shape_of(shapes, integers(attributes, "shape"))


def _given_length(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    return _shape_of(shapes, (integer(attributes, "length"),))


def _with_probability(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    # NaN is neither.
    if not 0.0 <= number(attributes, "probability") <= 1.0:
        raise GraphError("wrong_attributes", "A probability is from 0 to 1.")
    return _given_shape(shapes, attributes)


def _elements(attributes: Attributes) -> int:
    return integer(attributes, "length") if "length" in attributes else prod(
        integers(attributes, "shape")
    )  # fmt: skip


def words_of(call: Call, count: int) -> Array:
    """`count` words of the call's stream."""
    key, offset = call.operands
    return philox.words(call.xp, [int(each) for each in key], int(offset), count)


def _random(
    name: str,
    summary: str,
    attributes: tuple[Attribute, ...],
    dtypes: Sequence[str],
    run: Implementation,
    *,
    shapes: ShapeRule = _given_shape,
    bytes_inside: Count,
    flops: Work,
    error: ErrorRule = EXACT_FROM_ATTRIBUTES,
    fixed: str = "",
) -> Operator:
    words = ("uint64", "uint64")
    table: dict[tuple[str, ...], tuple[str, ...]] = {words: (fixed,)} if fixed else {}
    table |= {(*words, dtype): (dtype,) for dtype in dtypes}
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=("key", "offset"),
        attributes=attributes if fixed else (*attributes, _DTYPE),
        dtypes=table,
        shapes=shapes,
        run=run,
        flops=flops,
        temporaries=bytes_inside,
        error=error,
        special_values=_NONE,
    )


def _each(number: int) -> Work:
    return Work(lambda _types, attributes: number * _elements(attributes), f"{number} for each")


def _per_word(extra: int) -> Count:
    """Words (in whole blocks), and so many bytes more for each element."""

    def count(_types: Types, attributes: Attributes) -> int:
        return philox.nbytes(_elements(attributes)) + extra * _elements(attributes)

    return count


def _bits(call: Call) -> None:
    result = call.results[0]
    result.reshape(-1)[...] = words_of(call, result.size)


_FLOAT_BITS = {"float32": 24, "float64": 53}


def _uniform(call: Call) -> None:
    result = call.results[0]
    bits = _FLOAT_BITS[str(result.dtype)]
    words = words_of(call, result.size)
    words >>= numpy.uint64(64 - bits)
    flat = result.reshape(-1)
    flat[...] = words
    flat *= result.dtype.type(2.0**-bits)


def _bernoulli(call: Call) -> None:
    """Whole numbers are compared, so no machine rounds otherwise."""
    result = call.results[0]
    bound = round(number(call.attributes, "probability") * 2**53)
    words = words_of(call, result.size)
    words >>= numpy.uint64(11)
    call.xp.less(words, numpy.uint64(bound), out=result.reshape(-1))


def _normal(call: Call) -> None:
    """Box and Muller (1958), in float64 and rounded once: the pair of words 2 i, 2 i + 1 gives the
    cosine and the sine."""
    xp, result = call.xp, call.results[0]
    pairs = -(-result.size // 2)
    words = words_of(call, 2 * pairs)
    words >>= numpy.uint64(11)
    uniform = words.astype(xp.float64)
    # In (0, 1], so that the logarithm is finite.
    radius = uniform[0::2]
    radius += 1.0
    radius *= 2.0**-53
    xp.log(radius, out=radius)
    radius *= -2.0
    xp.sqrt(radius, out=radius)
    angle = uniform[1::2] * (2.0**-52 * numpy.pi)
    flat = result.reshape(-1)
    flat[0::2] = radius * xp.cos(angle)
    flat[1::2] = (radius * xp.sin(angle))[: result.size // 2]


def _permutation(call: Call) -> None:
    result = call.results[0]
    result[...] = call.xp.argsort(words_of(call, result.size), kind="stable")


def _permutation_work(_types: Types, attributes: Attributes) -> int:
    length = integer(attributes, "length")
    return length * (steps_of_search(length) + 10)


RANDOM_BITS = _random(
    "random_bits",
    "Words of 64 random bits.",
    (_SHAPE,),
    (),
    _bits,
    bytes_inside=_per_word(0),
    flops=_each(10),
    fixed="uint64",
)
RANDOM_UNIFORM = _random(
    "random_uniform",
    "Uniform in [0, 1): the 24 or 53 highest bits of a word.",
    (_SHAPE,),
    FLOATS,
    _uniform,
    bytes_inside=_per_word(0),
    flops=_each(12),
)
RANDOM_NORMAL = _random(
    "random_normal",
    "Standard normal: Box-Muller in float64, rounded once.",
    (_SHAPE,),
    FLOATS,
    _normal,
    bytes_inside=_per_word(16),
    flops=_each(30),
    error=ErrorRule(
        lambda _operands, _attributes: numpy.float64(8.6), lambda _t, _a: 4.0, "4 u 8.6"
    ),
)
RANDOM_BERNOULLI = _random(
    "random_bernoulli",
    "True with a probability, rounded to a multiple of 2^-53.",
    (_SHAPE, Attribute("probability", "float", "from 0 to 1")),
    (),
    _bernoulli,
    shapes=_with_probability,
    bytes_inside=_per_word(0),
    flops=_each(12),
    fixed="bool",
)
RANDOM_PERMUTATION = _random(
    "random_permutation",
    "The numbers from 0 to `length` - 1 in random order: those that sort as many words, stably.",
    (Attribute("length", "integer", "how many"),),
    (),
    _permutation,
    shapes=_given_length,
    bytes_inside=_per_word(8),
    flops=Work(_permutation_work, "ceil(log2 n) + 10 for each"),
    fixed="int64",
)

OPERATORS = (
    RANDOM_BITS,
    RANDOM_UNIFORM,
    RANDOM_NORMAL,
    RANDOM_BERNOULLI,
    RANDOM_PERMUTATION,
)
