"""ONNX's elementwise operators in ours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tests.conformance.translation import DTYPES, Lowering, Node, Translation, Unsupported

_SAME = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "BitwiseNot": "bitwise_invert", "Ceil": "ceil",
    "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "IsNaN": "isnan", "Log": "log", "Neg": "negative", "Not": "logical_not",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softplus": "softplus", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
_TWO = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "And": "logical_and", "Or": "logical_or",
    "Xor": "logical_xor", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Equal": "equal", "Less": "less", "LessOrEqual": "less_equal",
    "Greater": "greater", "GreaterOrEqual": "greater_equal",
}  # fmt: skip
_MANY = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _same(name: str) -> Lowering:
    return lambda t, node: t(name, node[0])


def _two(name: str) -> Lowering:
    return lambda t, node: t(name, *t.together(node[0], node[1]))


def _many(name: str) -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        values = t.together(*(each for each in node.inputs if each is not None))
        return reduce(lambda left, right: t(name, left, right), values)

    return lower


def mean(t: Translation, node: Node) -> int:
    total = _many("add")(t, node)
    assert isinstance(total, int)
    return t.scaled(total, 1 / len(node.inputs))


def divide(t: Translation, node: Node) -> int:
    left, right = t.together(node[0], node[1])
    if t.dtype(left).startswith(("int", "uint")):
        # ONNX divides integers towards zero.
        rest = t("fmod", left, right)
        return t("floor_divide", t("subtract", left, rest), right)
    return t("divide", left, right)


def modulo(t: Translation, node: Node) -> int:
    name = "fmod" if node.attribute("fmod", 0) else "remainder"
    return t(name, *t.together(node[0], node[1]))


def power(t: Translation, node: Node) -> int:
    base, exponent = t.together(node[0], node[1])
    dtype = t.dtype(base)
    wide = dtype if dtype in ("float32", "float64") else "float64"
    found = t("pow", t.cast(base, wide), t.cast(exponent, wide))
    return t.cast(found, dtype)


def clip(t: Translation, node: Node) -> int:
    value = node[0]
    low, high = node.get(1), node.get(2)
    if low is not None:
        value = t("maximum", value, t.spread(low, t.shape(value)))
    if high is not None:
        value = t("minimum", value, t.spread(high, t.shape(value)))
    return value


def where(t: Translation, node: Node) -> int:
    return t("where", *t.together(*(node[position] for position in range(3))))


def is_infinite(t: Translation, node: Node) -> int:
    value = node[0]
    found = t("isinf", value)
    above = t("greater", value, t.number(0, value))
    if not node.attribute("detect_negative", 1):
        found = t("logical_and", found, above)
    if not node.attribute("detect_positive", 1):
        found = t("logical_and", found, t("logical_not", above))
    return found


def shift(t: Translation, node: Node) -> int:
    way = node.attribute("direction").lower()
    return t(f"bitwise_{way}_shift", *t.together(node[0], node[1]))


def cast(t: Translation, node: Node) -> int:
    target = node.attribute("to")
    if target not in DTYPES:
        raise Unsupported("a dtype that we do not have")
    return t.cast(node[0], DTYPES[target])


def cast_like(t: Translation, node: Node) -> int:
    return t.cast(node[0], t.dtype(node[1]))


def bit_cast(t: Translation, node: Node) -> int:
    raise Unsupported("no operator for it: bits as another dtype")


def prelu(t: Translation, node: Node) -> int:
    value, slope = t.together(node[0], node[1])
    below = t("multiply", value, slope)
    return t("where", t("less", value, t.number(0, value)), below, value)


def _choice(t: Translation, value: int, above: int, below: int) -> int:
    return t("where", t("greater", value, t.number(0, value)), above, below)


def selu(t: Translation, node: Node) -> int:
    alpha, gamma = node.attribute("alpha", 1.67326319), node.attribute("gamma", 1.05070102)
    return t.scaled(t("elu", node[0], alpha=float(alpha)), gamma)


def celu(t: Translation, node: Node) -> int:
    alpha = float(node.attribute("alpha", 1.0))
    inner = t("elu", t.scaled(node[0], 1 / alpha), alpha=alpha)
    return _choice(t, node[0], node[0], inner)


def hard_sigmoid(t: Translation, node: Node) -> int:
    alpha, beta = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    line = t.plus(t.scaled(node[0], alpha), beta)
    return t("clip", line, t.number(0, line), t.number(1, line))


def hard_swish(t: Translation, node: Node) -> int:
    line = t.plus(t.scaled(node[0], 1 / 6), 0.5)
    return t("multiply", node[0], t("clip", line, t.number(0, line), t.number(1, line)))


def swish(t: Translation, node: Node) -> int:
    alpha = node.attribute("alpha", 1.0)
    return t("multiply", node[0], t("sigmoid", t.scaled(node[0], alpha)))


def mish(t: Translation, node: Node) -> int:
    return t("multiply", node[0], t("tanh", t("softplus", node[0])))


def softsign(t: Translation, node: Node) -> int:
    return t("divide", node[0], t.plus(t("abs", node[0]), 1))


def shrink(t: Translation, node: Node) -> int:
    bias, bound = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    value = node[0]
    below = t("where", t("less", value, t.number(-bound, value)), t.plus(value, bias),
              t.number(0, value))  # fmt: skip
    return t("where", t("greater", value, t.number(bound, value)), t.plus(value, -bias), below)


def thresholded(t: Translation, node: Node) -> int:
    value = node[0]
    above = t("greater", value, t.number(node.attribute("alpha", 1.0), value))
    return t("where", above, value, t.number(0, value))


def gelu(t: Translation, node: Node) -> int:
    return t("gelu" if node.attribute("approximate", "none") == "none" else "gelu_tanh", node[0])


def _first(t: Translation, node: Node) -> Sequence[int]:
    return [node[0]]


LOWERINGS: dict[str, Lowering] = {
    **{name: _same(ours) for name, ours in _SAME.items()},
    **{name: _two(ours) for name, ours in _TWO.items()},
    **{name: _many(ours) for name, ours in _MANY.items()},
    "BitCast": bit_cast,
    "BitShift": shift,
    "Cast": cast,
    "CastLike": cast_like,
    "Celu": celu,
    "Clip": clip,
    "Div": divide,
    "Elu": lambda t, node: t("elu", node[0], alpha=float(node.attribute("alpha", 1.0))),
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Identity": _first,
    "IsInf": is_infinite,
    "LeakyRelu": lambda t, node: t(
        "leaky_relu", node[0], slope=float(node.attribute("alpha", 0.01))
    ),
    "Mean": mean,
    "Mish": mish,
    "Mod": modulo,
    "PRelu": prelu,
    "Pow": power,
    "Selu": selu,
    "Shrink": shrink,
    "Softsign": softsign,
    "Swish": swish,
    "ThresholdedRelu": thresholded,
    "Where": where,
}
