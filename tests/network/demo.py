"""`make demo`: one verified product through a whole network on this machine."""

import sys
import threading
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.network.network import Network

SIZE = 4096
EPSILON = float(np.finfo(np.float32).eps)


def demo() -> int:
    """Start a network, compute A @ B on it, compare with numpy, stop; 0 if all is right."""
    say("Starting a network on this machine: site, lab node, two volunteers ...")
    network = Network()
    network.places.make()
    making = threading.Thread(target=make_inputs, args=(network.places.data,))
    making.start()
    started = time.monotonic()
    with network:
        making.join()
        say(f"Ready after {time.monotonic() - started:.1f} s. The plan:\n")
        network_seconds = compute(network)
        right = compare(network.places.data, network_seconds)
        stopping = time.monotonic()
    say(f"Everything is stopped ({time.monotonic() - stopping:.1f} s)")
    return 0 if right else 1


def make_inputs(folder: Path, size: int = SIZE) -> None:
    """Write A.npy and B.npy, `size` x `size`, normal random float32."""
    random = np.random.default_rng(2026)
    for name in ("A", "B"):
        np.save(folder / f"{name}.npy", random.standard_normal((size, size), dtype=np.float32))


def compute(network: Network) -> float:
    """What a researcher types; the seconds from submit to result."""
    lab = network.connect()
    product = lab.open("data/A.npy") @ lab.open("data/B.npy")
    print(product.explain(), end="\n\n", flush=True)
    started = time.monotonic()
    job = product.submit(name="demo", out="data/C.npy")
    job.result()
    seconds = time.monotonic() - started
    print(f"\n{job.report()}\n", flush=True)
    return seconds


def compare(folder: Path, network_seconds: float) -> bool:
    """Compare C.npy with numpy's product; prints deviation and times."""
    a, b, c = (np.load(folder / f"{name}.npy") for name in "ABC")
    started = time.monotonic()
    expected = a @ b
    numpy_seconds = time.monotonic() - started
    deviation = float(np.abs(c - expected).max())
    allowed = rounding(a, b)
    say(
        f"Largest deviation from numpy's product: {deviation:.2e}\n"
        f"  (rounding alone explains up to {allowed:.1e}; entries are about {expected.std():.0f})"
    )
    say(
        f"Network {network_seconds:.2f} s, numpy {numpy_seconds:.2f} s here: "
        f"{network_seconds / numpy_seconds:.2f} times as long"
    )
    return deviation <= allowed


def rounding(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """How far two float32 products may lie apart when they add in another order, by statistics.

    An entry's error is a random walk over K roundings, each relative to the running sum, which is
    at most the product of the norms; eight standard deviations, twice because both are rounded.
    """
    norms = float(np.linalg.norm(a, axis=1).max() * np.linalg.norm(b, axis=0).max())
    return 2 * 8 * EPSILON * norms


def say(sentence: str) -> None:
    """Print a line at once."""
    print(sentence, flush=True, file=sys.stdout)
