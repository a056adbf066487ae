"""What is fuzzed: strategies, each with what judges its examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from opgraph.graph import Graph
from tests.fuzz import mutations
from tests.fuzz.judge import Fault, judge

LIMITS = (
    "integer_too_large",
    "too_many_elements",
    "too_many_axes",
    "too_many_flops",
    "too_much_memory",
)


def judge_graph(graph: Graph, number: int) -> str:
    """The same for a graph whose operators accepted every node: only limits may refuse it."""
    data = graph.to_bytes()
    found = judge(data, number)
    code = found.removeprefix("refused: ")
    if code != found and code not in LIMITS:
        raise Fault(f"Accepted node by node, and refused when it is read: {code}")
    return found


TARGETS: dict[str, tuple[Callable[[], Any], Callable[[Any, int], str]]] = {
    "bytes": (mutations.changed_bytes, judge),
    "trees": (mutations.changed_trees, judge),
    "formulas": (mutations.formulas, judge),
    "graphs": (mutations.wild_graphs, judge_graph),
}


class Exploration:
    """Runs of one target; counts outcomes and keeps the last example, which hypothesis makes the
    smallest one that fails."""

    def __init__(self, name: str) -> None:
        self.strategy, self.judge = TARGETS[name]
        self.outcomes: Counter[str] = Counter()
        self.last: tuple[bytes, int] = (b"", 0)

    def run(self, examples: int, start: int) -> None:
        """So many examples, chosen by `start`. Raises what an example raises."""
        phases = (Phase.explicit, Phase.generate, Phase.target, Phase.shrink)
        limits = settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        )
        seed(start)(limits(given(self.strategy(), st.integers(0, 2**16))(self._one)))()

    def _one(self, subject: bytes | Graph, number: int) -> None:
        data = subject if isinstance(subject, bytes) else subject.to_bytes()
        self.last = data, number
        self.outcomes[self.judge(subject, number)] += 1
