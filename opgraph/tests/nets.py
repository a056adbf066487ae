"""Networks as graphs, for tests of what cuts graphs."""

from __future__ import annotations

from itertools import pairwise

from opgraph.builder import GraphBuilder
from opgraph.graph import Graph


class Net:
    """Layers on rows of features. Parameters are placeholders, so a first pass counts them."""

    def __init__(self, rows: int, width: int, dtype: str = "float32") -> None:
        self.build = GraphBuilder()
        self.rows, self.width, self.dtype = rows, width, dtype
        self.count = 0

    def parameter(self, *shape: int, dtype: str | None = None) -> int:
        self.count += 1
        return self.build.placeholder(f"p{self.count}", dtype or self.dtype, shape)

    def spread(self, vector: int, *shape: int) -> int:
        thin = (1,) * (len(shape) - 1) + self.build.type(vector).shape
        thin_vector = self.build.apply("reshape", vector, shape=thin)
        return self.build.apply("broadcast_to", thin_vector, shape=shape)

    def linear(self, value: int, weight: int, bias: int, turned: bool = False) -> int:
        if turned:
            weight = self.build.apply("permute_dims", weight, axes=(1, 0))
        product = self.build.apply("matmul", value, weight)
        shape = self.build.type(product).shape
        return self.build.apply("add", product, self.spread(bias, *shape))

    def normal(self, value: int, gain: int, bias: int) -> int:
        return self.build.apply_all("layer_norm", (value, gain, bias), {"epsilon": 1e-5})[0]


def mlp(
    rows: int,
    widths: tuple[int, ...],
    dtype: str = "float32",
    turned: bool = False,
    between: str = "relu",
) -> Graph:
    """Products with biases, an activation between; x0 is the batch, `turned` weights (out, in)."""
    net = Net(rows, widths[0], dtype)
    value = net.build.placeholder("x0", dtype, (rows, widths[0]))
    pairs = [
        (net.parameter(*((after, before) if turned else (before, after))), net.parameter(after))
        for before, after in pairwise(widths)
    ]
    for number, (weight, bias) in enumerate(pairs):
        if number:
            value = net.build.apply(between, value)
        value = net.linear(value, weight, bias, turned)
    return net.build.build(value)


def _layer_parameters(net: Net, width: int) -> list[int]:
    shapes: list[tuple[int, ...]] = [(width,)] * 4
    for before, after in ((width, 3 * width), (width, width), (width, 4 * width),
                          (4 * width, width)):  # fmt: skip
        shapes += [(before, after), (after,)]
    return [net.parameter(*shape) for shape in shapes]


def _attention(net: Net, value: int, samples: int, heads: int) -> int:
    apply, rows = net.build.apply, net.rows
    width, length = net.width, net.rows // samples
    parts = []
    for part in range(3):
        cut = apply("slice", value, starts=(0, part * width), stops=(rows, (part + 1) * width),
                    steps=(1, 1))  # fmt: skip
        split = apply("reshape", cut, shape=(samples, length, heads, width // heads))
        parts.append(apply("permute_dims", split, axes=(0, 2, 1, 3)))
    query, key, content = parts
    scores = apply("matmul", query, apply("permute_dims", key, axes=(0, 1, 3, 2)))
    shape = net.build.type(scores).shape
    # The same for all layers: a constant, which each stage makes for itself.
    square = apply("full", shape=(length, length), value=float("-inf"), dtype=net.dtype)
    mask = apply("triu", square, offset=1)
    scores = apply("add", scores, apply("broadcast_to", apply(
        "reshape", mask, shape=(1, 1, length, length)), shape=shape))  # fmt: skip
    mixed = apply("matmul", apply("softmax", scores, axis=3), content)
    return apply("reshape", apply("permute_dims", mixed, axes=(0, 2, 1, 3)), shape=(rows, width))


def gpt(
    layers: int = 4, width: int = 16, samples: int = 2, length: int = 8, words: int = 32
) -> Graph:
    """Embedding, layers of attention and perceptron with residuals, and the head; x0 are words."""
    net = Net(samples * length, width)
    x = net.build.placeholder("x0", "int64", (net.rows,))
    table, ends = net.parameter(words, width), [net.parameter(width), net.parameter(width)]
    parameters = [_layer_parameters(net, width) for _ in range(layers)]
    head = net.parameter(words, width)
    apply = net.build.apply
    value = apply("take", table, x, axis=0)
    for g1, b1, g2, b2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias in parameters:
        normal = net.normal(value, g1, b1)
        attended = _attention(net, net.linear(normal, qkv, qkv_bias), samples, heads=2)
        value = apply("add", value, net.linear(attended, out, out_bias))
        normal = net.normal(value, g2, b2)
        hidden = apply("gelu", net.linear(normal, up, up_bias))
        value = apply("add", value, net.linear(hidden, down, down_bias))
    normal = net.normal(value, *ends)
    return net.build.build(apply("matmul", normal, apply("permute_dims", head, axes=(1, 0))))
