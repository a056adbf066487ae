"""What the tests of cheating share: a lab, jobs on it, volunteers played by hand."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goblin_wire.exchange import Lease
from tests.adversaries.volunteer import ScriptedVolunteer
from tests.network import Network

ROWS, INNER, COLUMNS = 600, 700, 640
UNIT_MEMORY = 3 * 2**20
PATIENCE_S = 30.0

Matrix = NDArray[Any]


class Bench:
    """Gives out fresh accounts and jobs; nobody computes unless a test does."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.lab = network.connect()
        people = network.people
        assert people is not None
        self._tokens = iter(people.volunteer_tokens)
        self._jobs = 0

    def volunteer(self) -> ScriptedVolunteer:
        """A volunteer with an account that did nothing yet."""
        return ScriptedVolunteer(self.network.places.site_url, next(self._tokens))

    def submit(self, *, rows: int = ROWS, inner: int = INNER, columns: int = COLUMNS) -> "Work":
        """A product of new numbers."""
        self._jobs += 1
        numbers = np.random.default_rng(self._jobs)
        a = numbers.standard_normal((rows, inner), np.float32)
        b = numbers.standard_normal((inner, columns), np.float32)
        product = self.lab.array(a) @ self.lab.array(b)
        name = f"bench-{self._jobs}"
        return Work(a, b, product.submit(name=name, memory=UNIT_MEMORY))

    def lease(self, volunteer: ScriptedVolunteer, units: int = 1) -> list[Lease]:
        """Leases for this volunteer; waits until the lab has registered its units."""
        return eventually(lambda: volunteer.exchange(units=units).leases, "no lease was given")

    def finish(self, work: "Work") -> Matrix:
        """Another account computes honestly whatever is left; returns the product."""
        volunteer = self.volunteer()
        deadline = time.monotonic() + PATIENCE_S
        while not work.job.done():
            assert time.monotonic() < deadline, work.job.why()
            for lease in volunteer.exchange(units=8).leases:
                volunteer.deliver(lease, volunteer.compute(lease))
        return np.asarray(work.job.result(timeout=PATIENCE_S))


class Work:
    """A submitted product and what it must be."""

    def __init__(self, a: Matrix, b: Matrix, job: Any) -> None:
        self.job = job
        self._exact = a.astype(np.float64) @ b.astype(np.float64)
        self._scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        self._inner = a.shape[1]

    def assert_right(self, product: Matrix) -> None:
        """Within what an honest float32 sum of K products may deviate."""
        allowed = 4 * np.sqrt(self._inner) * 2.0**-24
        assert (np.abs(product - self._exact) / self._scale).max() <= allowed


def eventually(ask: Callable[[], Any], complaint: str) -> Any:
    """The first true answer; AssertionError after half a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)
    return answer
