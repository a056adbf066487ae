"""A model in eager PyTorch, and its numbers as inputs of the graph."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.executor import eager, models

Arrays = list[np.ndarray[Any, Any]]


class Case:
    """`training`: loss, gradients of all parameters, new statistics; else the scores."""

    def __init__(self, name: str, training: bool, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.training = training
        self.model = models.model(name, training)
        self.eager = eager.MODELS[name]().train(training)
        self.data, self.labels = self._numbers(seed)
        self.arrays = self._inputs()

    @property
    def parameters(self) -> list[Tensor]:
        found = dict(self.eager.named_parameters())
        return [found[name] for name in self.model.parameters]

    def _numbers(self, seed: int) -> tuple[Tensor, Tensor]:
        """Data and labels: standard normal numbers, or words; each label is as likely."""
        data, labels = (each.type for each in self.model.graph.placeholders[:2])
        made = torch.Generator().manual_seed(seed)
        if data.dtype == "int64":
            words = models.GPT_WORDS
            return (torch.randint(words, each.shape, generator=made) for each in (data, labels))
        classes = models.CLASSES
        return (
            torch.randn(data.shape, generator=made),
            torch.randint(classes, labels.shape, generator=made),
        )

    def _inputs(self) -> dict[str, Any]:
        buffers = dict(self.eager.named_buffers())
        kept = [
            causal_mask() if name == "mask" else buffers[name].numpy().copy()
            for name in self.model.statistics
        ]
        arrays = [self.data.numpy(), self.labels.numpy()]
        learnt = iter([each.detach().numpy() for each in self.parameters])
        others = iter(kept)
        for place in self.model.graph.placeholders[2:]:
            arrays.append(next(learnt if place.name.startswith("p") else others))
        names = [each.name for each in self.model.graph.placeholders]
        return dict(zip(names, arrays, strict=True))

    def theirs(self) -> list[Tensor]:
        if not self.training:
            with torch.no_grad():
                return [self.eager(self.data)]
        loss = functional.cross_entropy(self.eager(self.data), self.labels)
        return [loss, *torch.autograd.grad(loss, self.parameters)]

    def in_double(self) -> Arrays:
        """What should come out, computed in float64; statistics included."""
        twin = copy.copy(self)
        twin.eager = copy.deepcopy(self.eager).double()
        # Statistics have moved with every turn; the graph got those of the beginning.
        buffers = dict(twin.eager.named_buffers())
        for name, place in zip(self.model.statistics, self._kept_names(), strict=True):
            if name in buffers:
                buffers[name].copy_(torch.from_numpy(self.arrays[place]))
        if twin.data.is_floating_point():
            twin.data = self.data.double()
        found = [each.detach().numpy() for each in twin.theirs()]
        if self.training:
            found += [buffers[name].numpy() for name in self.model.statistics if name in buffers]
        return found

    def _kept_names(self) -> list[str]:
        names = [each.name for each in self.model.graph.placeholders[2:]]
        return [name for name in names if name.startswith("i")]


def causal_mask() -> np.ndarray[Any, Any]:
    """0 where a place may look, -infinity at those after it."""
    return np.triu(np.full((models.GPT_LENGTH, models.GPT_LENGTH), -np.inf, np.float32), 1)
