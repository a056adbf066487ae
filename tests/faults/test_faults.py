"""Three seeded rounds of kill -9; `make faults` plays thirty random ones."""

from collections.abc import Iterator

import pytest

from tests.faults.round import play
from tests.network import Network

SEEDS = (13, 33, 37)
"""A volunteer twice; the database, then the lab node twice; the web, the lab node, the web."""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network(volunteers=2) as running:
        yield running


@pytest.mark.network
@pytest.mark.parametrize("seed", SEEDS)
def test_kill_at_random_moments(network: Network, seed: int) -> None:
    play(network, seed)
