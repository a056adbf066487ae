"""The six models in PyTorch, as people write them; the twin of `benchmarks.executor.models`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.executor import models as sizes


class Block(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.first = nn.LayerNorm(width)
        self.mixed = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.second = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, value: Tensor) -> Tensor:
        value = value + self.joined(self._attention(self.mixed(self.first(value))))
        wide = functional.gelu(self.wide(self.second(value)), approximate="tanh")
        return value + self.narrow(wide)

    def _attention(self, mixed: Tensor) -> Tensor:
        samples, length, triple = mixed.shape
        width = triple // 3
        query, key, value = (
            each.view(samples, length, self.heads, width // self.heads).transpose(1, 2)
            for each in mixed.split(width, dim=2)
        )
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return seen.transpose(1, 2).reshape(samples, length, width)


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.GPT_WORDS, sizes.GPT_WIDTH)
        self.places = nn.Embedding(sizes.GPT_LENGTH, sizes.GPT_WIDTH)
        self.blocks = nn.ModuleList(
            Block(sizes.GPT_WIDTH, sizes.GPT_HEADS, causal=True) for _ in range(sizes.GPT_LAYERS)
        )
        self.last = nn.LayerNorm(sizes.GPT_WIDTH)
        # As the initial weights of GPT-2: those of `nn.Embedding` give scores of 11 on average.
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, words: Tensor) -> Tensor:
        words = words.view(sizes.GPT_BATCH, sizes.GPT_LENGTH)
        value = self.words(words) + self.places.weight
        for block in self.blocks:
            value = block(value)
        scores = functional.linear(self.last(value), self.words.weight)
        return scores.view(-1, sizes.GPT_WORDS)


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        patch = sizes.VIT_PATCH
        self.patch = nn.Conv2d(sizes.IMAGE[0], sizes.VIT_WIDTH, patch, stride=patch)
        self.places = nn.Parameter(0.02 * torch.randn(sizes.VIT_TOKENS, sizes.VIT_WIDTH))
        self.blocks = nn.ModuleList(
            Block(sizes.VIT_WIDTH, sizes.VIT_HEADS, causal=False) for _ in range(sizes.VIT_LAYERS)
        )
        self.last = nn.LayerNorm(sizes.VIT_WIDTH)
        self.head = nn.Linear(sizes.VIT_WIDTH, sizes.CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        value = self.patch(images).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            value = block(value)
        return self.head(self.last(value).mean(dim=1))


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        first, second = sizes.CNN_WIDTHS
        self.first = nn.Conv2d(sizes.IMAGE[0], first, 3, padding=1)
        self.norm = nn.BatchNorm2d(first)
        self.second = nn.Conv2d(first, second, 3, padding=1)
        self.head = nn.Linear(second * sizes.IMAGE[1] * sizes.IMAGE[2] // 16, sizes.CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        value = functional.max_pool2d(functional.relu(self.norm(self.first(images))), 2)
        value = functional.avg_pool2d(functional.relu(self.second(value)), 2)
        return self.head(value.flatten(1))


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        stride = outer // inner
        self.first = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outer)
        self.side = self.side_norm = None
        if inner != outer:
            self.side = nn.Conv2d(inner, outer, 1, stride=stride, bias=False)
            self.side_norm = nn.BatchNorm2d(outer)

    def forward(self, value: Tensor) -> Tensor:
        found = functional.relu(self.first_norm(self.first(value)))
        found = self.second_norm(self.second(found))
        if self.side is not None:
            value = self.side_norm(self.side(value))
        return functional.relu(found + value)


class Resnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = sizes.RESNET_WIDTHS
        self.stem = nn.Conv2d(sizes.IMAGE[0], widths[0], 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(widths[0])
        pairs = pairwise(widths)
        self.blocks = nn.Sequential(*(Residual(*pair) for pair in pairs))
        self.head = nn.Linear(widths[-1], sizes.CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        value = functional.relu(self.stem_norm(self.stem(images)))
        return self.head(self.blocks(value).mean(dim=(2, 3)))


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(sizes.LSTM_FEATURES, sizes.LSTM_WIDTH)
        self.head = nn.Linear(sizes.LSTM_WIDTH, sizes.CLASSES)

    def forward(self, sequence: Tensor) -> Tensor:
        hidden, _ = self.lstm(sequence)
        return self.head(hidden[-1])


def mlp() -> nn.Module:
    parts: list[nn.Module] = []
    for inner, outer in pairwise(sizes.MLP_WIDTHS):
        parts += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": mlp, "gpt": Gpt, "vit": Vit, "cnn": Cnn, "resnet": Resnet, "lstm": Lstm,
}  # fmt: skip
