"""`make faults`: thirty rounds of kill -9 at random moments, on one network after another."""

import argparse
import itertools
import sys
import time
from collections.abc import Iterator

from tests.faults.computations import slow_network
from tests.faults.round import Missed, play
from tests.network import Network

ROUNDS = 30
ROUNDS_PER_NETWORK = 10
MISSES = 5


def main() -> int:
    """Play the rounds; 1 at the first broken promise, with the seed that shows it.

    A round whose kills all came after the end of its job does not count; another one is played.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, help="of the first round; default: from the clock")
    options = parser.parse_args()
    seeds = itertools.count(int(time.time()) if options.seed is None else options.seed)
    played = 0
    while played < options.rounds:
        with slow_network() as network:
            for _ in range(min(ROUNDS_PER_NETWORK, options.rounds - played)):
                _play_next(network, seeds)
                played += 1
    print(f"{options.rounds} rounds, every product right, nothing verified twice")
    return 0


def _play_next(network: Network, seeds: Iterator[int]) -> None:
    for seed in itertools.islice(seeds, MISSES):
        try:
            print(play(network, seed), flush=True)
            return
        except Missed as missed:
            print(f"round {seed} does not count: {missed}", flush=True)
        except Exception:
            print(f"broken at --seed {seed} --rounds 1\n{network.last_words()}", flush=True)
            raise
    raise Missed(f"{MISSES} rounds after another met no job in work")


if __name__ == "__main__":
    sys.exit(main())
