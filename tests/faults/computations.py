"""Which units were computed when, and when the lab node had verified them."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from tests.network import Network

GRACE_S = 1.0
"""A volunteer hears of a verified unit with its next exchange, and may have begun by then."""
PAUSE_S = 0.1
"""How much longer than it takes anyway a volunteer of the rounds computes on a unit."""
_SLOW = Path(__file__).parent / "slow"


@dataclass(frozen=True)
class Began:
    """A volunteer began to compute a unit, at this time of the machine's clock."""

    unit: str
    at: float


def slow_network(volunteers: int = 2) -> Network:
    """A network whose volunteers are slow and note what they compute."""
    network = Network(volunteers=volunteers)
    network.volunteer_environment = {
        "PYTHONPATH": str(_SLOW),
        "ROUND_NOTES": str(_notes(network)),
        "ROUND_PAUSE": str(PAUSE_S),
    }
    return network


def again(began: Iterable[Began], verified: Mapping[str, float]) -> list[str]:
    """Units of which a computation began though they were verified."""
    return [
        each.unit
        for each in began
        if each.unit in verified and each.at > verified[each.unit] + GRACE_S
    ]


def computations(network: Network) -> list[Began]:
    """All that was ever begun in this network."""
    with psycopg.connect(network.site.database_url) as database:
        rows = database.execute(
            "SELECT l.id, u.uid FROM workunits_lease l JOIN workunits_unit u ON u.id = l.unit_id"
        ).fetchall()
    units: dict[str, UUID] = {lease.hex: unit for lease, unit in rows}
    lines = [line.split() for line in _notes(network).read_text().splitlines()]
    return [Began(units[lease].hex, float(at)) for at, lease in lines]


class LabRecords:
    """The lab node's own records of one job, readable whether it runs or not."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = f"file:{folder / 'lab.sqlite3'}?mode=ro"
        self._name = name

    def counts(self) -> tuple[int, int]:
        """Verified units, and all."""
        rows = self._rows("SELECT state FROM units JOIN runs USING (run) WHERE name = ?")
        return sum(state == "verified" for (state,) in rows), len(rows)

    def finished(self) -> bool:
        ((at,),) = self._rows("SELECT finished_at FROM runs WHERE name = ?")
        return at is not None

    def verified(self) -> dict[str, float | None]:
        """Unit -> when it was verified."""
        rows = self._rows(
            "SELECT unit, verified_at FROM units JOIN runs USING (run) WHERE name = ?"
        )
        return dict(rows)

    def results(self) -> list[tuple[str, str]]:
        """Unit and state of every lease whose result was sent."""
        return self._rows(
            "SELECT unit, state FROM leases JOIN runs USING (run)"
            " WHERE name = ? AND digest IS NOT NULL"
        )

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self._file, uri=True, timeout=10.0)) as database:
            return database.execute(query, (self._name,)).fetchall()


def _notes(network: Network) -> Path:
    return network.places.folder / "computations"
