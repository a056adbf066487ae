"""Six models as graphs of the catalogue's operators, forward and with all gradients.

`benchmarks.executor.eager` has the same six in PyTorch; parameters bear the same names there.
Both transformers bend by tanh (`gelu_tanh`), as the first GPT and the first ViT do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from benchmarks.executor import layers
from benchmarks.executor.tape import Tape
from opgraph.graph import Graph

BATCH = 64
IMAGE = (3, 32, 32)
CLASSES = 10

MLP_BATCH, MLP_WIDTHS = 256, (784, 512, 512, CLASSES)

GPT_BATCH, GPT_LENGTH, GPT_WIDTH, GPT_HEADS, GPT_LAYERS, GPT_WORDS = 8, 128, 128, 4, 4, 512

VIT_PATCH, VIT_WIDTH, VIT_HEADS, VIT_LAYERS = 4, 64, 4, 2
VIT_TOKENS = (IMAGE[1] // VIT_PATCH) ** 2

CNN_WIDTHS = (32, 64)
RESNET_WIDTHS = (16, 16, 32)

LSTM_STEPS, LSTM_FEATURES, LSTM_WIDTH = 12, 32, 64


@dataclass(frozen=True)
class Model:
    """A graph, with what goes in and comes out.

    The placeholders are the data, then the parameters, then what is kept beside them (running
    means and variances, a mask). The first output is the scores, or in training the loss, the
    gradients of `parameters` in order, and the new `statistics` in order.
    """

    graph: Graph
    parameters: tuple[str, ...]
    statistics: tuple[str, ...]


class _Inputs:
    """Placeholders by PyTorch's names; a mean and variance run along with a batch norm."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.statistics: dict[str, int] = {}
        self.moved: dict[str, int] = {}

    def linear(self, name: str, inner: int, outer: int) -> tuple[int, int]:
        return (
            self.tape.parameter(f"{name}.weight", outer, inner),
            self.tape.parameter(f"{name}.bias", outer),
        )

    def norm(self, name: str, width: int) -> tuple[int, int]:
        return (
            self.tape.parameter(f"{name}.weight", width),
            self.tape.parameter(f"{name}.bias", width),
        )

    def batch_norm(self, name: str, width: int) -> tuple[str, int, int]:
        weight, bias = self.norm(name, width)
        for each in ("running_mean", "running_var"):
            self.statistics[f"{name}.{each}"] = self.tape.input("float32", width)
        return name, weight, bias


def _scores_of_images(t: Tape) -> tuple[int, int]:
    return t.input("float32", BATCH, *IMAGE), t.input("int64", BATCH)


Made = tuple[int, int, _Inputs]
"""Scores, labels, placeholders."""


# --- MLP ------------------------------------------------------------------------------------------
def mlp(t: Tape) -> Made:
    value, labels = t.input("float32", MLP_BATCH, MLP_WIDTHS[0]), t.input("int64", MLP_BATCH)
    given = _Inputs(t)
    pairs = pairwise(MLP_WIDTHS)
    weights = [given.linear(f"{2 * n}", *widths) for n, widths in enumerate(pairs)]
    for weight, bias in weights[:-1]:
        value = layers.relu(t, layers.linear(t, value, weight, bias))
    return layers.linear(t, value, *weights[-1]), labels, given


# --- transformers ---------------------------------------------------------------------------------
class _Block:
    """One layer before its norms: attention, then two linear layers, each added to what came."""

    def __init__(self, given: _Inputs, name: str, width: int, heads: int) -> None:
        self.t = given.tape
        self.heads = heads
        self.first = given.norm(f"{name}.first", width)
        self.mixed = given.linear(f"{name}.mixed", width, 3 * width)
        self.joined = given.linear(f"{name}.joined", width, width)
        self.second = given.norm(f"{name}.second", width)
        self.wide = given.linear(f"{name}.wide", width, 4 * width)
        self.narrow = given.linear(f"{name}.narrow", 4 * width, width)

    def __call__(self, value: int, samples: int, mask: int | None) -> int:
        t = self.t
        normed = layers.layer_norm(t, value, *self.first)
        mixed = layers.linear(t, normed, *self.mixed)
        seen = self._attention(mixed, samples, mask)
        value = layers.add(t, value, layers.linear(t, seen, *self.joined))
        normed = layers.layer_norm(t, value, *self.second)
        wide = layers.gelu(t, layers.linear(t, normed, *self.wide))
        return layers.add(t, value, layers.linear(t, wide, *self.narrow))

    def _attention(self, mixed: int, samples: int, mask: int | None) -> int:
        t = self.t
        rows, triple = t.shape(mixed)
        length, depth = rows // samples, triple // 3 // self.heads
        parted = layers.reshape(t, mixed, samples, length, 3, self.heads, depth)
        turned = layers.permute(t, parted, 2, 0, 3, 1, 4)
        query, key, value = (
            layers.reshape(t, each, samples, self.heads, length, depth)
            for each in layers.split(t, turned, 0, 3)
        )
        query = layers.scale(t, query, 1 / sqrt(depth))
        scores = layers.matmul(t, query, layers.permute(t, key, 0, 1, 3, 2))
        if mask is not None:
            scores = _masked(t, scores, mask)
        seen = layers.matmul(t, layers.softmax(t, scores), value)
        return layers.reshape(t, layers.permute(t, seen, 0, 2, 1, 3), rows, triple // 3)


def _masked(t: Tape, scores: int, mask: int) -> int:
    """Add a mask (queries, keys) of 0 and -infinity to each sample and head."""
    shape = t.shape(scores)
    thin = t("reshape", mask, shape=(1, 1, *shape[2:]))
    result = t("add", scores, t("broadcast_to", thin, shape=shape))
    t.note([result], [scores], lambda g: t.give(scores, layers.only(g)))
    return result


def gpt(t: Tape) -> Made:
    rows = GPT_BATCH * GPT_LENGTH
    words, labels = t.input("int64", rows), t.input("int64", rows)
    given = _Inputs(t)
    table = t.parameter("words.weight", GPT_WORDS, GPT_WIDTH)
    places = t.parameter("places.weight", GPT_LENGTH, GPT_WIDTH)
    blocks = [_Block(given, f"blocks.{n}", GPT_WIDTH, GPT_HEADS) for n in range(GPT_LAYERS)]
    last = given.norm("last", GPT_WIDTH)
    mask = t.input("float32", GPT_LENGTH, GPT_LENGTH)
    given.statistics["mask"] = mask
    value = layers.reshape(t, layers.embedding(t, table, words), GPT_BATCH, GPT_LENGTH, GPT_WIDTH)
    value = layers.reshape(t, layers.add_to_each(t, value, places), rows, GPT_WIDTH)
    for block in blocks:
        value = block(value, GPT_BATCH, mask)
    value = layers.layer_norm(t, value, *last)
    return layers.product_with(t, value, table), labels, given


def vit(t: Tape) -> Made:
    images, labels = _scores_of_images(t)
    given = _Inputs(t)
    patch = t.parameter("patch.weight", VIT_WIDTH, IMAGE[0], VIT_PATCH, VIT_PATCH)
    patch_bias = t.parameter("patch.bias", VIT_WIDTH)
    places = t.parameter("places", VIT_TOKENS, VIT_WIDTH)
    blocks = [_Block(given, f"blocks.{n}", VIT_WIDTH, VIT_HEADS) for n in range(VIT_LAYERS)]
    last = given.norm("last", VIT_WIDTH)
    head = given.linear("head", VIT_WIDTH, CLASSES)
    patches = layers.convolution(t, images, patch, stride=VIT_PATCH)
    patches = layers.add_along(t, patches, patch_bias, 1)
    tokens = layers.reshape(t, patches, BATCH, VIT_WIDTH, VIT_TOKENS)
    tokens = layers.add_to_each(t, layers.permute(t, tokens, 0, 2, 1), places)
    value = layers.reshape(t, tokens, BATCH * VIT_TOKENS, VIT_WIDTH)
    for block in blocks:
        value = block(value, BATCH, None)
    value = layers.layer_norm(t, value, *last)
    pooled = layers.mean_of(t, layers.reshape(t, value, BATCH, VIT_TOKENS, VIT_WIDTH), 1)
    return layers.linear(t, pooled, *head), labels, given


# --- images ---------------------------------------------------------------------------------------
def _normed(given: _Inputs, images: int, norm: tuple[str, int, int]) -> int:
    name, weight, bias = norm
    names = [f"{name}.{each}" for each in ("running_mean", "running_var")]
    running = (given.statistics[each] for each in names)
    result, *moved = layers.batch_norm(given.tape, images, weight, bias, *running)
    given.moved.update(zip(names, moved, strict=False))
    return result


def cnn(t: Tape) -> Made:
    images, labels = _scores_of_images(t)
    given = _Inputs(t)
    first, second = CNN_WIDTHS
    weights = [t.parameter("first.weight", first, IMAGE[0], 3, 3), t.parameter("first.bias", first)]
    norm = given.batch_norm("norm", first)
    more = [t.parameter("second.weight", second, first, 3, 3), t.parameter("second.bias", second)]
    features = second * IMAGE[1] * IMAGE[2] // 16
    head = given.linear("head", features, CLASSES)
    value = layers.add_along(t, layers.convolution(t, images, weights[0], padding=1), weights[1], 1)
    value = layers.max_pool(t, layers.relu(t, _normed(given, value, norm)), 2)
    value = layers.add_along(t, layers.convolution(t, value, more[0], padding=1), more[1], 1)
    value = layers.average_pool(t, layers.relu(t, value), 2)
    return layers.linear(t, layers.reshape(t, value, BATCH, features), *head), labels, given


class _Residual:
    """Two convolutions with batch norm, added to what came (by a 1x1 convolution if widened)."""

    def __init__(self, given: _Inputs, name: str, inner: int, outer: int) -> None:
        self.given, self.stride = given, outer // inner
        t = given.tape
        self.first = t.parameter(f"{name}.first.weight", outer, inner, 3, 3)
        self.first_norm = given.batch_norm(f"{name}.first_norm", outer)
        self.second = t.parameter(f"{name}.second.weight", outer, outer, 3, 3)
        self.second_norm = given.batch_norm(f"{name}.second_norm", outer)
        self.side: int | None = None
        if inner != outer:
            self.side = t.parameter(f"{name}.side.weight", outer, inner, 1, 1)
            self.side_norm = given.batch_norm(f"{name}.side_norm", outer)

    def __call__(self, value: int) -> int:
        t = self.given.tape
        found = layers.convolution(t, value, self.first, self.stride, padding=1)
        found = layers.relu(t, _normed(self.given, found, self.first_norm))
        found = layers.convolution(t, found, self.second, padding=1)
        found = _normed(self.given, found, self.second_norm)
        if self.side is not None:
            value = layers.convolution(t, value, self.side, self.stride)
            value = _normed(self.given, value, self.side_norm)
        return layers.relu(t, layers.add(t, found, value))


def resnet(t: Tape) -> Made:
    images, labels = _scores_of_images(t)
    given = _Inputs(t)
    stem = t.parameter("stem.weight", RESNET_WIDTHS[0], IMAGE[0], 3, 3)
    stem_norm = given.batch_norm("stem_norm", RESNET_WIDTHS[0])
    pairs = pairwise(RESNET_WIDTHS)
    blocks = [_Residual(given, f"blocks.{n}", *pair) for n, pair in enumerate(pairs)]
    head = given.linear("head", RESNET_WIDTHS[-1], CLASSES)
    value = layers.convolution(t, images, stem, padding=1)
    value = layers.relu(t, _normed(given, value, stem_norm))
    for block in blocks:
        value = block(value)
    return layers.linear(t, layers.mean_of(t, value, 2, 3), *head), labels, given


# --- LSTM -----------------------------------------------------------------------------------------
def lstm(t: Tape) -> Made:
    sequence = t.input("float32", LSTM_STEPS, BATCH, LSTM_FEATURES)
    labels = t.input("int64", BATCH)
    given = _Inputs(t)
    gates = 4 * LSTM_WIDTH
    inner = t.parameter("lstm.weight_ih_l0", gates, LSTM_FEATURES)
    carried = t.parameter("lstm.weight_hh_l0", gates, LSTM_WIDTH)
    biases = [t.parameter(f"lstm.bias_{each}_l0", gates) for each in ("ih", "hh")]
    head = given.linear("head", LSTM_WIDTH, CLASSES)
    rows = layers.reshape(t, sequence, LSTM_STEPS * BATCH, LSTM_FEATURES)
    both = layers.add(t, *biases)
    entering = layers.linear(t, rows, inner, both)
    states: list[int] = []

    def weigh(gradient: int) -> None:
        # One product for all steps, as libraries do it.
        later = t("slice", gradient, starts=(BATCH, 0), stops=t.shape(gradient), steps=(1, 1))
        before = t("concat", *states[:-1], axis=0)
        t.give(carried, t("matmul", layers.transposed(t, later), before))

    cell: int | None = None
    for step in layers.split(t, entering, 0, LSTM_STEPS, weigh):
        hidden, cell = _lstm_step(t, step, carried, states[-1] if states else None, cell)
        states.append(hidden)
    return layers.linear(t, states[-1], *head), labels, given


def _lstm_step(
    t: Tape, step: int, carried: int, hidden: int | None, cell: int | None
) -> tuple[int, int]:
    """Before the first step hidden and cell are zero: nothing is added."""
    if hidden is not None:
        step = layers.add(t, layers.product_with(t, hidden, carried, weigh=False), step)
    entry, forget, fresh, way_out = layers.split(t, step, 1, 4)
    now = layers.multiply(t, layers.sigmoid(t, entry), layers.tanh(t, fresh))
    if cell is not None:
        now = layers.add(t, layers.multiply(t, layers.sigmoid(t, forget), cell), now)
    return layers.multiply(t, layers.sigmoid(t, way_out), layers.tanh(t, now)), now


MODELS: dict[str, Callable[[Tape], Made]] = {
    "mlp": mlp, "gpt": gpt, "vit": vit, "cnn": cnn, "resnet": resnet, "lstm": lstm,
}  # fmt: skip


def model(name: str, training: bool) -> Model:
    """The graph of the scores, or with `training` of the loss and all gradients."""
    t = Tape()
    t.training = training
    scores, labels, given = MODELS[name](t)
    outputs = [scores]
    if training:
        loss = layers.cross_entropy(t, scores, labels)
        outputs = [loss, *t.gradients(loss), *given.moved.values()]
    return Model(t.graph(*outputs), tuple(t.parameters), tuple(given.statistics))
