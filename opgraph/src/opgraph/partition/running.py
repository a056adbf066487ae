"""Running a chain of parts in one process: what tests and researchers compare the network with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy

from opgraph.errors import InputError
from opgraph.executor import Source as Given
from opgraph.executor import execute
from opgraph.partition.parts import Chain, Source
from opgraph.tensors import Array

Key: TypeAlias = tuple[int | None, int]
"""A part and the position of one of its outputs."""


def run_chain(
    chain: Chain, inputs: Mapping[str, Given], *, xp: Any = numpy, threads: int = 1
) -> list[Array]:
    """The outputs of the whole graph, by its parts one after the other.

    `inputs` gives the placeholders of the whole graph as `execute` takes them; a function is
    called once by each part that needs it. An array that goes from part to part is let go after
    the last that takes it. Raises what `execute` raises.
    """
    made: dict[Key, Array] = {}
    last = _last_users(chain)
    for number, part in enumerate(chain.parts):
        given = {
            placeholder.name: _fetch(chain, source, inputs, made)
            for placeholder, source in zip(part.graph.placeholders, part.sources, strict=True)
        }
        results = execute(part.graph, given, xp=xp, threads=threads)
        made.update({(number, place): array for place, array in enumerate(results)})
        for key in [each for each in made if last.get(each, -1) <= number]:
            del made[key]
    return [made[source.part, source.position] for source in chain.outputs]


def _last_users(chain: Chain) -> dict[Key, int]:
    last: dict[Key, int] = {}
    for number, part in enumerate(chain.parts):
        last.update({(source.part, source.position): number for source in part.sources})
    last.update({(each.part, each.position): len(chain.parts) for each in chain.outputs})
    return last


def _fetch(
    chain: Chain,
    source: Source,
    inputs: Mapping[str, Given],
    made: Mapping[Key, Array],
) -> Callable[[], Array]:
    """What gives the array of a source when it is first wanted."""

    def fetch() -> Array:
        if source.part is not None:
            array = made[source.part, source.position]
        else:
            name = chain.placeholders[source.position].name
            if name not in inputs:
                raise InputError("missing_input", f"There is no array for the placeholder {name}.")
            given = inputs[name]
            array = given() if callable(given) else given
        if source.box is None:
            return array
        return array[tuple(slice(*span) for span in source.box)]

    return fetch
