"""Every hostile graph is refused, with its code, at once and in little memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hostile import CORPUS, GOOD

from opgraph.errors import GraphError
from opgraph.graph import Graph

MOST_SECONDS = 0.05
MOST_BYTES = 50_000_000


def test_the_corpus_is_large_enough_and_its_frame_is_good() -> None:
    assert len(CORPUS) >= 60
    assert Graph.from_bytes(GOOD).to_bytes() == GOOD


@pytest.mark.parametrize("name", CORPUS)
def test_it_is_refused(name: str) -> None:
    data, code = CORPUS[name]
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(data)
    assert refusal.value.code == code
    assert 0 < len(refusal.value.message) < 500


@pytest.mark.parametrize("name", CORPUS)
def test_it_is_refused_at_once(name: str) -> None:
    """Processor time: how long it takes on a busy machine says nothing."""
    data, _ = CORPUS[name]
    taken = []
    for _ in range(3):
        began = time.process_time()
        with pytest.raises(GraphError):
            Graph.from_bytes(data)
        taken.append(time.process_time() - began)
    assert min(taken) < MOST_SECONDS


@pytest.mark.parametrize("name", CORPUS)
def test_it_is_refused_in_little_memory(name: str) -> None:
    data, _ = CORPUS[name]
    tracemalloc.start()
    try:
        with pytest.raises(GraphError):
            Graph.from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
