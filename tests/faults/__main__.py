"""`make faults`: thirty rounds of kill -9 at random moments, on one network after another."""

import argparse
import sys
import time

from tests.faults.computations import slow_network
from tests.faults.round import play

ROUNDS = 30
ROUNDS_PER_NETWORK = 10


def main() -> int:
    """Play the rounds; 1 at the first broken promise, with the seed that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, help="of the first round; default: from the clock")
    options = parser.parse_args()
    first = int(time.time()) if options.seed is None else options.seed
    seeds = range(first, first + options.rounds)
    for start in range(0, len(seeds), ROUNDS_PER_NETWORK):
        with slow_network() as network:
            for seed in seeds[start : start + ROUNDS_PER_NETWORK]:
                try:
                    print(play(network, seed), flush=True)
                except Exception:
                    print(f"broken at --seed {seed} --rounds 1\n{network.last_words()}", flush=True)
                    raise
    print(f"{options.rounds} rounds, every product right, nothing verified twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
