"""What a graph is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opgraph.catalogue import Operator, operator
from opgraph.catalogue.attributes import AttributeValue
from opgraph.tensors import TensorType


@dataclass(frozen=True, slots=True)
class Placeholder:
    """An input. Names are a letter and a number: nothing of the researcher's travels."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Node:
    """One operator applied to earlier values; `results` are the types of what it makes."""

    operator: str
    operands: tuple[int, ...]
    results: tuple[TensorType, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    version: int = 1

    @property
    def declaration(self) -> Operator:
        return operator(self.operator)
