"""Running a chain of parts in one process: what tests and researchers compare the network with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from opgraph.errors import InputError
from opgraph.executor import Source as Given
from opgraph.executor import execute
from opgraph.partition.parts import Chain, Source
from opgraph.tensors import Array


def run_chain(
    chain: Chain, inputs: Mapping[str, Given], *, xp: Any = numpy, threads: int = 1
) -> list[Array]:
    """The outputs of the whole graph, by its parts one after the other.

    `inputs` gives the placeholders of the whole graph as `execute` takes them; a function is
    called once by each part that needs it. An array that goes from part to part is let go after
    the last that takes it. Raises what `execute` raises.
    """
    made: dict[tuple[int, int], Array] = {}
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
    return [made[_key(source)] for source in chain.outputs]


def _key(source: Source) -> tuple[int, int]:
    assert source.part is not None  # outputs come out of parts
    return source.part, source.position


def _last_users(chain: Chain) -> dict[tuple[int, int], int]:
    last = {}
    for number, part in enumerate(chain.parts):
        for source in part.sources:
            if source.part is not None:
                last[source.part, source.position] = number
    last.update({_key(source): len(chain.parts) for source in chain.outputs})
    return last


def _fetch(
    chain: Chain,
    source: Source,
    inputs: Mapping[str, Given],
    made: Mapping[tuple[int, int], Array],
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
