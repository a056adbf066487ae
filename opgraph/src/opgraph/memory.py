"""How much memory a graph needs, known before it runs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opgraph.graph import Graph
    from opgraph.program import Program

FIXED_BYTES = 96 << 10
"""What a run takes at most beside its arrays: objects of the interpreter, buffers of numpy (8,192
elements an operand). It does not grow with the arrays; `peak_bytes` leaves it out."""


def peak_bytes(graph: Graph) -> int:
    """The most bytes of arrays alive at once while the executor runs a valid graph.

    An upper bound, close to what is measured: inputs from their first use to their last, results,
    views by what they look into, temporaries and scratch. Fixed costs of the process and of its
    libraries come on top.
    """
    return program_peak_bytes(graph.program)


def program_peak_bytes(program: Program) -> int:
    """The same, of the steps themselves."""
    ending: dict[int, list[int]] = defaultdict(list)
    for number, store in enumerate(program.stores):
        ending[store.last_step].append(number)
    alive: set[int] = set()
    live = peak = 0
    for position, step in enumerate(program.steps):
        begun = {program.places[value].store for value in step.loads}
        begun.update(program.made_stores(step))
        alive |= begun
        live += sum(program.stores[each].nbytes for each in begun)
        peak = max(peak, live + step.temporaries + step.scratch)
        ended = alive.intersection(ending[position])
        alive -= ended
        live -= sum(program.stores[each].nbytes for each in ended)
    return peak
