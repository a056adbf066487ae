"""The first step of a claim: which jobs may be leased from now, the least served lab first."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from goblin_wire.protocol import LAB_SEEN_S
from workunits import limits
from workunits.database import Query, Row, query, row, run
from workunits.switches import lab_is_on

_IN_FLIGHT = """
SELECT count(*) AS units, coalesce(sum(p.output_bytes), 0)::bigint AS bytes,
       coalesce(sum(p.flops), 0)::float8 AS flops
FROM workunits_pendinglease p WHERE p.lab_id = n.lab_id AND p.live"""

# The largest unit that fits: the index is then walked from its far end, where no unit has left yet.
_CANDIDATES = f"""
WITH labs AS MATERIALIZED (
  SELECT n.lab_id, l.key AS lab_key, n.endpoint, n.certificate,
         n.window_units - f.units AS units, n.window_bytes - f.bytes AS bytes,
         l.daily_flops - coalesce(d.flops, 0) - f.flops AS flops,
         coalesce(d.flops, 0) + f.flops AS served
  FROM workunits_labnode n
  JOIN research_access_lab l ON l.id = n.lab_id AND l.state = 'active'
  LEFT JOIN workunits_labday d
    ON d.lab_id = n.lab_id AND d.day = (now() AT TIME ZONE 'UTC')::date
  CROSS JOIN LATERAL ({_IN_FLIGHT}) f
  WHERE n.reachable AND n.last_seen > now() - make_interval(secs => {LAB_SEEN_S})
    AND {lab_is_on("n.lab_id")}
)
SELECT j.id, labs.lab_id, labs.lab_key, labs.endpoint, labs.certificate, labs.units, labs.bytes,
       labs.flops
FROM labs JOIN workunits_job j ON j.lab_id = labs.lab_id AND j.state = 'open'
CROSS JOIN LATERAL (
  SELECT 1 FROM workunits_opening o
  WHERE o.job_id = j.id AND o.memory <= %(memory)s AND o.catalogue <= %(catalogue)s
  ORDER BY o.memory DESC LIMIT 1) fits
WHERE labs.units > 0 AND labs.bytes > 0 AND labs.flops > 0
ORDER BY labs.served, j.id LIMIT {limits.CANDIDATE_JOBS}"""  # noqa: S608

_ROOM = f"""
SELECT n.window_units - f.units AS units, n.window_bytes - f.bytes AS bytes,
       l.daily_flops - coalesce(d.flops, 0) - f.flops AS flops
FROM workunits_labnode n
JOIN research_access_lab l ON l.id = n.lab_id
LEFT JOIN workunits_labday d ON d.lab_id = n.lab_id AND d.day = (now() AT TIME ZONE 'UTC')::date
CROSS JOIN LATERAL ({_IN_FLIGHT}) f
WHERE n.lab_id = %(lab)s"""  # noqa: S608

_TURNS = 0x6C6162
"""First key of the advisory locks by which claims at a nearly full window take turns."""


@dataclass(slots=True)
class Room:
    """What may still be leased from one lab: units, bytes and flops of today's quota."""

    units: int
    bytes: int
    flops: float

    def refusal(self, output_bytes: int, flops: int) -> str:
        """The notice code of what keeps one more such unit out, or an empty string."""
        if self.units < 1 or self.bytes < output_bytes:
            return "window_full"
        return "quota_used" if self.flops < flops else ""

    def take(self, output_bytes: int, flops: int) -> None:
        """Count one more unit."""
        self.units -= 1
        self.bytes -= output_bytes
        self.flops -= flops


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job to lease from, and how its lab is reached."""

    job: int
    lab: int
    lab_key: UUID
    endpoint: str
    certificate: str | None
    room: Room


def look(memory: int, catalogue: int) -> Query:
    """What finds the jobs that have a unit that fits; `candidates` takes its rows."""
    return query(_CANDIDATES, {"memory": memory, "catalogue": catalogue})


def candidates(jobs: list[Row]) -> list[Candidate]:
    """The rows of `look` as jobs to lease from; jobs of one lab share its room."""
    shared: dict[int, Room] = {}
    found = []
    for each in jobs:
        room = shared.setdefault(each.lab_id, Room(each.units, each.bytes, each.flops))
        found.append(
            Candidate(each.id, each.lab_id, each.lab_key, each.endpoint, each.certificate, room)
        )
    return found


def is_calm(room: Room, units: int, largest: tuple[int, int]) -> bool:
    """Whether there is so much room that simultaneous claims cannot pass a limit together."""
    output_bytes, flops = largest
    ahead = units * limits.CALM_WINDOW
    return (
        room.units > ahead
        and room.bytes > ahead * output_bytes
        and room.flops > float(ahead) * flops
    )


def take_turn(candidate: Candidate) -> None:
    """Wait for other claims at this lab, then look at its room again."""
    run(
        "SELECT pg_advisory_xact_lock(%(turns)s::integer, %(lab)s::integer)",
        {"turns": _TURNS, "lab": candidate.lab & 0x7FFFFFFF},
    )
    fresh = row(_ROOM, {"lab": candidate.lab})
    if fresh is not None:
        candidate.room.units = fresh.units
        candidate.room.bytes = fresh.bytes
        candidate.room.flops = fresh.flops
