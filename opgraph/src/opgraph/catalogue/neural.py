"""Activations of neural networks, and their gradients: elementwise, fused for speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, number
from opgraph.catalogue.declaration import Call, Count, ErrorRule, Implementation, Operator, Types
from opgraph.catalogue.elementwise import BLOCK, bytes_per_element, in_blocks, rooms_bytes
from opgraph.catalogue.erf import erf_bytes, normal_share
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.references import Define, Definition, defined_by
from opgraph.catalogue.rules import EXACT, per_element, same_dtype, same_shape
from opgraph.tensors import FLOATS, Array, TensorType

_SQRT_HALF = 0.7071067811865476
_SQRT_2_PI = 0.7978845608028654
_CUBIC = 0.044715
_INVERSE_SQRT_2PI = 0.3989422804014327
_NAN = "NaN gives NaN"


def _activation(
    name: str,
    summary: str,
    run: Implementation,
    definition: Definition,
    scale: Callable[..., Array] | None,
    special: str,
    *,
    operations: int,
    gradient: bool = False,
    attributes: tuple[Attribute, ...] = (),
    temporaries: Count | None = None,
    contiguous: bool = False,
) -> Operator:
    operands = ("gradient", "operand") if gradient else ("operand",)

    return with_halves(
        Operator(
            name=name,
            family="neural_gradients" if gradient else "neural",
            summary=summary,
            operands=operands,
            attributes=attributes,
            dtypes=same_dtype(len(operands), FLOATS),
            shapes=same_shape,
            run=run,
            reference=defined_by(definition),
            flops=per_element(operations),
            temporaries=temporaries or bytes_per_element(0),
            error=EXACT if scale is None else _of_scale(scale),
            special_values=special,
            in_place=(0,),
            contiguous=contiguous,
        )
    )


def _of_scale(scale: Callable[..., Array]) -> ErrorRule:
    def of(operands: Sequence[Array], _attributes: Attributes) -> Array:
        return scale(*operands)

    return ErrorRule(of, lambda _types, _attributes: 32.0, "16 ulp of the parts")


def _itemsize_times(number: int) -> Count:
    def count(types: Types, _attributes: Attributes) -> int:
        return number * types[0].nbytes

    return count


# --- relu and its like ----------------------------------------------------------------------------
def _relu(call: Call) -> None:
    call.xp.maximum(call.operands[0], 0, out=call.results[0])


def _relu_backward(call: Call) -> None:
    in_blocks(call, 1, _open_part)


def _open_part(xp: Any, gradient: Array, operand: Array, result: Array, room: Array) -> None:
    """Bits of the gradient, masked: a choice by element costs a branch for each."""
    whole = xp.int32 if result.itemsize == 4 else xp.int64
    mask = room.view(whole)
    # Of minus a boolean as a whole number all bits are set, or none.
    xp.copyto(mask, operand > 0)
    xp.negative(mask, out=mask)
    xp.bitwise_and(gradient.view(whole), mask, out=result.view(whole))


def _leaky_relu(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    scaled = operand * operand.dtype.type(number(call.attributes, "slope"))
    result[...] = call.xp.where(operand > 0, operand, scaled)


def _leaky_relu_backward(call: Call) -> None:
    gradient, operand = call.operands
    scaled = gradient * gradient.dtype.type(number(call.attributes, "slope"))
    call.results[0][...] = call.xp.where(operand > 0, gradient, scaled)


def _elu(call: Call) -> None:
    xp, operand, result = call.xp, call.operands[0], call.results[0]
    below = xp.expm1(xp.minimum(operand, 0))
    below *= operand.dtype.type(number(call.attributes, "alpha"))
    result[...] = xp.where(operand > 0, operand, below)


def _elu_backward(call: Call) -> None:
    xp = call.xp
    gradient, operand = call.operands
    slope = xp.exp(xp.minimum(operand, 0))
    slope *= operand.dtype.type(number(call.attributes, "alpha"))
    slope *= gradient
    call.results[0][...] = xp.where(operand > 0, gradient, slope)


_SLOPE = Attribute("slope", "float", "the slope below 0")
_ALPHA = Attribute("alpha", "float", "minus the value far below 0")


# --- sigmoid and its like -------------------------------------------------------------------------
def sigmoid_into(xp: Any, operand: Array, result: Array) -> None:
    """1 / (1 + exp(-x)): where exp overflows the quotient is 0, as it should be."""
    xp.negative(operand, out=result)
    xp.exp(result, out=result)
    result += 1
    xp.divide(1, result, out=result)


def _new(call: Call) -> Array:
    return call.xp.empty(call.operands[0].shape, call.operands[0].dtype)


def _sigmoid(call: Call) -> None:
    sigmoid_into(call.xp, call.operands[0], call.results[0])


def _sigmoid_backward(call: Call) -> None:
    """From the result of `sigmoid`."""
    gradient, result = call.operands
    slope = call.xp.subtract(1, result, out=_new(call))
    slope *= result
    call.xp.multiply(gradient, slope, out=call.results[0])


def _tanh_backward(call: Call) -> None:
    gradient, result = call.operands
    slope = call.xp.square(result, out=_new(call))
    call.xp.subtract(1, slope, out=slope)
    call.xp.multiply(gradient, slope, out=call.results[0])


def _silu(call: Call) -> None:
    share = _new(call)
    sigmoid_into(call.xp, call.operands[0], share)
    call.xp.multiply(call.operands[0], share, out=call.results[0])


def _silu_backward(call: Call) -> None:
    xp = call.xp
    gradient, operand = call.operands
    share, slope = _new(call), _new(call)
    sigmoid_into(xp, operand, share)
    xp.subtract(1, share, out=slope)
    slope *= operand
    slope += 1
    slope *= share
    xp.multiply(gradient, slope, out=call.results[0])


def _softplus(call: Call) -> None:
    """max(x, 0) + log1p(exp(-|x|))."""
    xp, operand = call.xp, call.operands[0]
    tail = xp.abs(operand, out=_new(call))
    xp.negative(tail, out=tail)
    xp.exp(tail, out=tail)
    xp.log1p(tail, out=tail)
    xp.maximum(operand, 0, out=call.results[0])
    call.results[0][...] += tail


def _softplus_backward(call: Call) -> None:
    share = _new(call)
    sigmoid_into(call.xp, call.operands[1], share)
    call.xp.multiply(call.operands[0], share, out=call.results[0])


# --- gelu -----------------------------------------------------------------------------------------
def _gelu(call: Call) -> None:
    in_blocks(call, 2, _gelu_part)


def _gelu_part(xp: Any, operand: Array, result: Array, share: Array, square: Array) -> None:
    normal_share(xp, operand, share, square)
    xp.multiply(operand, share, out=result)


def _gelu_backward(call: Call) -> None:
    in_blocks(call, 2, _gelu_backward_part)


def _gelu_backward_part(
    xp: Any, gradient: Array, operand: Array, result: Array, share: Array, density: Array
) -> None:
    normal_share(xp, operand, share, density)
    xp.square(operand, out=density)
    density *= operand.dtype.type(-0.5)
    xp.exp(density, out=density)
    density *= operand.dtype.type(_INVERSE_SQRT_2PI)
    density *= operand
    share += density
    xp.multiply(gradient, share, out=result)


def _bent(xp: Any, operand: Array, square: Array, bent: Array) -> None:
    """tanh(sqrt(2 / pi) (x + 0.044715 x^3)), from x and x^2."""
    kind = operand.dtype.type
    xp.multiply(square, kind(_SQRT_2_PI * _CUBIC), out=bent)
    bent += kind(_SQRT_2_PI)
    bent *= operand
    xp.tanh(bent, out=bent)


def _gelu_tanh(call: Call) -> None:
    in_blocks(call, 1, _gelu_tanh_part)


def _gelu_tanh_part(xp: Any, operand: Array, result: Array, bent: Array) -> None:
    xp.square(operand, out=bent)
    _bent(xp, operand, bent, bent)
    bent += 1
    bent *= bent.dtype.type(0.5)
    xp.multiply(operand, bent, out=result)


def _gelu_tanh_backward(call: Call) -> None:
    in_blocks(call, 3, _gelu_tanh_backward_part)


def _gelu_tanh_backward_part(
    xp: Any,
    gradient: Array,
    operand: Array,
    result: Array,
    slope: Array,
    bent: Array,
    rest: Array,
) -> None:
    """Half of 1 + t + (1 - t^2) x s, with t the tanh and s the slope of what it is of."""
    kind = operand.dtype.type
    xp.square(operand, out=slope)
    _bent(xp, operand, slope, bent)
    slope *= kind(3 * _SQRT_2_PI * _CUBIC)
    slope += kind(_SQRT_2_PI)
    slope *= operand
    xp.square(bent, out=rest)
    xp.subtract(1, rest, out=rest)
    slope *= rest
    slope += bent
    slope += 1
    slope *= kind(0.5)
    xp.multiply(gradient, slope, out=result)


def _gelu_bytes(types: Types, attributes: Attributes) -> int:
    inside = TensorType(types[0].dtype, (min(BLOCK, types[0].elements),))
    by_erf = erf_bytes([inside], attributes) if types[0].dtype == "float64" else 0
    return rooms_bytes(2)(types, attributes) + by_erf


# --- definitions ----------------------------------------------------------------------------------
def _share_of(define: Define, operand: int) -> int:
    """sigmoid out of exp."""
    return define("reciprocal", define.plus(define("exp", define("negative", operand)), 1))


def _normal_of(define: Define, operand: int) -> int:
    return define.scaled(define.plus(define("erf", define.scaled(operand, _SQRT_HALF)), 1), 0.5)


def _bent_of(define: Define, operand: int) -> int:
    square = define.scaled(define("square", operand), _CUBIC)
    cubic = define("multiply", define.plus(square, 1), operand)
    return define("tanh", define.scaled(cubic, _SQRT_2_PI))


def _choice(define: Define, operand: int, above: int, below: int) -> int:
    return define("where", define.positive(operand), above, below)


def _define_relu(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return define("maximum", values[0], define.number(0, values[0]))


def _define_relu_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return _choice(define, values[1], values[0], define.number(0, values[0]))


def _define_leaky(define: Define, values: Sequence[int], given: Attributes) -> int:
    return _choice(define, values[-1], values[0], define.scaled(values[0], number(given, "slope")))


def _define_elu(define: Define, values: Sequence[int], given: Attributes) -> int:
    below = define("expm1", define("minimum", values[0], define.number(0, values[0])))
    return _choice(define, values[0], values[0], define.scaled(below, number(given, "alpha")))


def _define_elu_backward(define: Define, values: Sequence[int], given: Attributes) -> int:
    below = define("exp", define("minimum", values[1], define.number(0, values[1])))
    slope = define.scaled(below, number(given, "alpha"))
    return _choice(define, values[1], values[0], define("multiply", slope, values[0]))


def _define_sigmoid(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return _share_of(define, values[0])


def _define_sigmoid_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    rest = define("subtract", define.number(1, values[1]), values[1])
    return define("multiply", values[0], define("multiply", rest, values[1]))


def _define_tanh_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    rest = define("subtract", define.number(1, values[1]), define("square", values[1]))
    return define("multiply", values[0], rest)


def _define_silu(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return define("multiply", values[0], _share_of(define, values[0]))


def _define_silu_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    gradient, operand = values
    share = _share_of(define, operand)
    rest = define("subtract", define.number(1, share), share)
    slope = define("multiply", share, define.plus(define("multiply", operand, rest), 1))
    return define("multiply", gradient, slope)


def _define_softplus(define: Define, values: Sequence[int], _given: Attributes) -> int:
    tail = define("log1p", define("exp", define("negative", define("abs", values[0]))))
    return define("add", define("maximum", values[0], define.number(0, values[0])), tail)


def _define_softplus_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return define("multiply", values[0], _share_of(define, values[1]))


def _define_gelu(define: Define, values: Sequence[int], _given: Attributes) -> int:
    return define("multiply", values[0], _normal_of(define, values[0]))


def _define_gelu_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    gradient, operand = values
    density = define("exp", define.scaled(define("square", operand), -0.5))
    bump = define("multiply", operand, define.scaled(density, _INVERSE_SQRT_2PI))
    return define("multiply", gradient, define("add", _normal_of(define, operand), bump))


def _define_gelu_tanh(define: Define, values: Sequence[int], _given: Attributes) -> int:
    half = define.scaled(define.plus(_bent_of(define, values[0]), 1), 0.5)
    return define("multiply", values[0], half)


def _define_gelu_tanh_backward(define: Define, values: Sequence[int], _given: Attributes) -> int:
    gradient, operand = values
    bent = _bent_of(define, operand)
    rest = define("subtract", define.number(1, bent), define("square", bent))
    inner = define.plus(define.scaled(define("square", operand), 3 * _CUBIC), 1)
    slope = define.scaled(define("multiply", operand, inner), 0.5 * _SQRT_2_PI)
    half = define.scaled(define.plus(bent, 1), 0.5)
    return define("multiply", gradient, define("add", define("multiply", slope, rest), half))


def _size(x: Array) -> Array:
    return numpy.abs(x)


def _product(g: Array, x: Array) -> Array:
    return numpy.abs(g) * (1 + numpy.abs(x))


def _steep_product(g: Array, x: Array) -> Array:
    return numpy.abs(g) * (1 + numpy.abs(x) ** 3)


RELU = _activation(
    "relu", "max(operand, 0).", _relu, _define_relu, None, f"{_NAN}; -0 may give 0 or -0.",
    operations=1,
)  # fmt: skip
RELU_BACKWARD = _activation(
    "relu_backward", "The gradient where the operand is above 0, else 0.", _relu_backward,
    _define_relu_backward, None, "Where the operand is NaN or 0 it is 0.", operations=1,
    gradient=True, temporaries=lambda t, a: rooms_bytes(1)(t, a) + min(BLOCK, t[0].elements),
    contiguous=True,
)  # fmt: skip
LEAKY_RELU = _activation(
    "leaky_relu", "The operand where it is above 0, else slope * operand.", _leaky_relu,
    _define_leaky, _size, f"{_NAN}.", operations=2, attributes=(_SLOPE,),
    temporaries=lambda t, _a: 2 * t[0].nbytes + t[0].elements,
)  # fmt: skip
LEAKY_RELU_BACKWARD = _activation(
    "leaky_relu_backward", "The gradient where the operand is above 0, else slope * gradient.",
    _leaky_relu_backward, _define_leaky, lambda g, _x: numpy.abs(g), "NaN counts as below 0.",
    operations=2, gradient=True, attributes=(_SLOPE,),
    temporaries=lambda t, _a: 2 * t[0].nbytes + t[0].elements,
)  # fmt: skip
ELU = _activation(
    "elu", "The operand where it is above 0, else alpha (exp(operand) - 1).", _elu, _define_elu,
    lambda x: numpy.abs(x) + 8, f"{_NAN}.", operations=4, attributes=(_ALPHA,),
    temporaries=lambda t, _a: 2 * t[0].nbytes + t[0].elements,
)  # fmt: skip
ELU_BACKWARD = _activation(
    "elu_backward", "The gradient of `elu`, of its operand.", _elu_backward, _define_elu_backward,
    lambda g, x: 8 * _product(g, x), f"{_NAN}.", operations=5, gradient=True, attributes=(_ALPHA,),
    temporaries=lambda t, _a: 2 * t[0].nbytes + t[0].elements,
)  # fmt: skip
SIGMOID = _activation(
    "sigmoid", "1 / (1 + exp(-operand)).", _sigmoid, _define_sigmoid,
    lambda x: (1 + numpy.abs(x)) / (1 + numpy.exp(-x)), f"{_NAN}; infinities give 1 and 0.",
    operations=4,
)  # fmt: skip
SIGMOID_BACKWARD = _activation(
    "sigmoid_backward", "gradient * y (1 - y), with y the result of `sigmoid`.", _sigmoid_backward,
    _define_sigmoid_backward, lambda g, y: numpy.abs(g * y) * (1 + numpy.abs(y)), f"{_NAN}.",
    operations=3, gradient=True, temporaries=_itemsize_times(1),
)  # fmt: skip
TANH_BACKWARD = _activation(
    "tanh_backward", "gradient * (1 - y^2), with y the result of `tanh`.", _tanh_backward,
    _define_tanh_backward, lambda g, y: numpy.abs(g) * (1 + y * y), f"{_NAN}.", operations=3,
    gradient=True, temporaries=_itemsize_times(1),
)  # fmt: skip
SILU = _activation(
    "silu", "operand * sigmoid(operand).", _silu, _define_silu,
    lambda x: numpy.abs(x) * (1 + numpy.abs(x)), f"{_NAN}, and so does -infinity.", operations=5,
    temporaries=_itemsize_times(1),
)  # fmt: skip
SILU_BACKWARD = _activation(
    "silu_backward", "The gradient of `silu`, of its operand.", _silu_backward,
    _define_silu_backward, lambda g, x: numpy.abs(g) * (1 + x * x), f"{_NAN}.", operations=9,
    gradient=True, temporaries=_itemsize_times(2),
)  # fmt: skip
SOFTPLUS = _activation(
    "softplus", "log(1 + exp(operand)), without overflow on the way.", _softplus, _define_softplus,
    lambda x: 1 + numpy.abs(x), f"{_NAN}; infinity stays, -infinity gives 0.", operations=6,
    temporaries=_itemsize_times(1),
)  # fmt: skip
SOFTPLUS_BACKWARD = _activation(
    "softplus_backward", "gradient * sigmoid(operand).", _softplus_backward,
    _define_softplus_backward, _product, f"{_NAN}.", operations=5, gradient=True,
    temporaries=_itemsize_times(1),
)  # fmt: skip
GELU = _activation(
    "gelu", "operand * the normal distribution function of it.", _gelu, _define_gelu, _size,
    f"{_NAN}, and so does -infinity.", operations=8, temporaries=_gelu_bytes,
    contiguous=True,
)  # fmt: skip
GELU_BACKWARD = _activation(
    "gelu_backward", "The gradient of `gelu`, of its operand.", _gelu_backward,
    _define_gelu_backward, _steep_product, f"{_NAN}.", operations=14, gradient=True,
    temporaries=_gelu_bytes, contiguous=True,
)  # fmt: skip
GELU_TANH = _activation(
    "gelu_tanh", "`gelu` with tanh in place of erf.", _gelu_tanh, _define_gelu_tanh,
    lambda x: numpy.abs(x) * (1 + numpy.abs(x)), f"{_NAN}, and so does -infinity.", operations=9,
    temporaries=rooms_bytes(1), contiguous=True,
)  # fmt: skip
GELU_TANH_BACKWARD = _activation(
    "gelu_tanh_backward", "The gradient of `gelu_tanh`, of its operand.", _gelu_tanh_backward,
    _define_gelu_tanh_backward, lambda g, x: numpy.abs(g) * (1 + numpy.abs(x)) ** 4, f"{_NAN}.",
    operations=18, gradient=True, temporaries=rooms_bytes(3), contiguous=True,
)  # fmt: skip

OPERATORS = (
    RELU, LEAKY_RELU, ELU, SIGMOID, SILU, SOFTPLUS, GELU, GELU_TANH, RELU_BACKWARD,
    LEAKY_RELU_BACKWARD, ELU_BACKWARD, SIGMOID_BACKWARD, TANH_BACKWARD, SILU_BACKWARD,
    SOFTPLUS_BACKWARD, GELU_BACKWARD, GELU_TANH_BACKWARD,
)  # fmt: skip
