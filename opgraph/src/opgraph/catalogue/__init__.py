"""The catalogue: every operator that a graph may name. One module per family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from opgraph.catalogue import (
    arithmetic,
    batch_normalisation,
    casts,
    comparison,
    control,
    convolution,
    indexing,
    integers,
    joining,
    linear_algebra,
    making,
    neural,
    normalisation,
    pooling,
    random,
    reductions,
    rounding,
    scans,
    shaping,
    solving,
    sorting,
    transcendental,
)
from opgraph.catalogue.declaration import Operator
from opgraph.errors import GraphError

CATALOGUE_VERSION = 1
"""Raised when an operator comes in or changes its meaning; a graph names the version it needs."""

_FAMILIES = (
    arithmetic,
    comparison,
    rounding,
    transcendental,
    reductions,
    scans,
    sorting,
    integers,
    linear_algebra,
    solving,
    shaping,
    joining,
    making,
    indexing,
    casts,
    random,
    neural,
    normalisation,
    batch_normalisation,
    convolution,
    pooling,
    control,
)

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {each.name: each for family in _FAMILIES for each in family.OPERATORS}
)


def operator(name: str) -> Operator:
    """The declaration of that name. Raises GraphError `unknown_operator`."""
    found = OPERATORS.get(name)
    if found is None:
        raise GraphError("unknown_operator", f"The catalogue has no operator {name[:64]!r}.")
    return found


__all__ = ["CATALOGUE_VERSION", "OPERATORS", "Operator", "operator"]
