"""Three seeded rounds of kill -9; `make faults` plays thirty random ones."""

from collections.abc import Iterator

import pytest

from tests.faults.computations import GRACE_S, Began, again, slow_network
from tests.faults.round import plan_kills, play
from tests.network import Network

SEEDS = (24, 30, 42)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with slow_network() as running:
        yield running


@pytest.mark.network
@pytest.mark.parametrize("seed", SEEDS)
def test_kill_at_random_moments(network: Network, seed: int) -> None:
    play(network, seed)


def test_the_seeds_kill_each_kind_of_process() -> None:
    victims = {kill.victim.partition("-")[0] for seed in SEEDS for kill in plan_kills(seed)}
    assert victims >= {"web", "database", "lab", "volunteer"}


def test_what_is_computed_again_is_noticed() -> None:
    verified = {"a": 100.0, "b": 101.0}
    in_time = [Began("a", 99.0), Began("b", 99.5), Began("b", 101.0 + GRACE_S / 2)]
    assert again(in_time, verified) == []
    assert again([*in_time, Began("a", 101.5 + GRACE_S)], verified) == ["a"]
