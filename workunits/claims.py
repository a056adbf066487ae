"""The second step of a claim: units of a job, skipping those that others are just taking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from goblin_wire.exchange import Want
from goblin_wire.protocol import MAX_BATCH
from goblin_wire.states import LeaseRole
from workunits import candidates, heads
from workunits.candidates import Candidate, is_calm, take_turn
from workunits.database import Query, Row, rows
from workunits.heads import Place
from workunits.identifiers import uuid7
from workunits.leasetime import compute_seconds, lease_seconds
from workunits.tries import may_take_sql

_PICK = f"""
SELECT u.id, u.uid, u.flops, u.memory, u.input_bytes, u.output_bytes, u.manifest, u.wanted,
       u.issued, o.rank, o.position
FROM workunits_opening o JOIN workunits_unit u ON u.id = o.unit_id
WHERE o.job_id = %(job)s AND o.memory <= %(memory)s AND o.catalogue <= %(catalogue)s
  AND (o.rank, o.position) >= (%(rank)s::smallint, %(position)s::bigint) AND u.wanted > 0
  AND {may_take_sql("o.unit_id", "%(account)s")}
ORDER BY o.rank, o.position LIMIT %(units)s FOR UPDATE OF u SKIP LOCKED"""  # noqa: S608


class Grant(NamedTuple):
    """A lease that is being made; the fields that `capabilities.lease_message` takes."""

    lease_id: UUID
    device: str
    device_class: str
    role: str
    seconds: float
    copy: int
    unit: int
    wanted: int
    unit_uid: UUID
    flops: int
    memory: int
    input_bytes: int
    output_bytes: int
    manifest: str
    job: int
    lab: int
    lab_key: UUID
    endpoint: str
    certificate: str | None


def look(hungry: Sequence[Want]) -> Query:
    """What finds the jobs from which these devices may be served."""
    return candidates.look(
        max(want.memory for want in hungry), max(want.catalogue for want in hungry)
    )


@dataclass(slots=True)
class Claim:
    """What one exchange takes for its devices."""

    account: int
    allowance: int
    """Leases that the account and the host may still get."""
    grants: list[Grant] = field(default_factory=list)
    short: list[Want] = field(default_factory=list)
    """Wants that were not filled."""
    refusal: str = ""
    """The notice code of what kept a unit back that was there and fitted."""

    def take(self, hungry: Sequence[Want], jobs: list[Candidate]) -> None:
        """Choose and lock units of these jobs for the devices, one after the other."""
        for want in hungry:
            if not self._fill(want, jobs if self.allowance > 0 else []):
                self.short.append(want)

    def _fill(self, want: Want, jobs: list[Candidate]) -> bool:
        """True when the device got what it asked for."""
        left = _Left(min(want.units, MAX_BATCH), want.seconds)
        for candidate in jobs:
            if left.units and self.allowance > 0:
                self._from_job(want, candidate, left)
        return not left.units

    def _from_job(self, want: Want, candidate: Candidate, left: _Left) -> None:
        ask = min(left.units, self.allowance, max(candidate.room.units, 0))
        if not ask:
            return
        found = self._pick(want, candidate, ask)
        if found and not is_calm(candidate.room, ask, _largest(found)):
            take_turn(candidate)
        for unit in found:
            seconds = compute_seconds(unit.flops, want.flops_per_s)
            if not left.units:
                break
            if refusal := candidate.room.refusal(unit.output_bytes, unit.flops):
                self.refusal = refusal
                break
            candidate.room.take(unit.output_bytes, unit.flops)
            left.take(seconds)
            self.allowance -= 1
            self.grants.append(_grant(unit, want, candidate))

    def _pick(self, want: Want, candidate: Candidate, units: int) -> list[Row]:
        taken = {grant.unit for grant in self.grants}
        wanted = units + len(taken)
        start = heads.head(candidate.job)
        found = self._look_from(start, want, candidate, wanted)
        if len(found) < wanted and start != heads.BEGINNING:
            start = heads.BEGINNING
            found = self._look_from(start, want, candidate, wanted)
        if found:
            heads.note(candidate.job, start, Place(found[-1].rank, found[-1].position))
        return [unit for unit in found if unit.id not in taken][:units]

    def _look_from(self, start: Place, want: Want, candidate: Candidate, units: int) -> list[Row]:
        return rows(
            _PICK,
            {
                "job": candidate.job,
                "rank": start.rank,
                "position": start.position,
                "memory": want.memory,
                "catalogue": want.catalogue,
                "account": self.account,
                "units": units,
            },
        )


@dataclass(slots=True)
class _Left:
    """What a device still wants: units and seconds of work, within one unit."""

    units: int
    seconds: float

    def take(self, seconds: float) -> None:
        self.units -= 1
        self.seconds -= seconds
        if self.seconds <= 0:
            self.units = 0


def _largest(units: Sequence[Row]) -> tuple[int, int]:
    return max(unit.output_bytes for unit in units), max(unit.flops for unit in units)


def _grant(unit: Row, want: Want, candidate: Candidate) -> Grant:
    return Grant(
        lease_id=uuid7(),
        device=want.device,
        device_class=want.device_class,
        role=LeaseRole.COMPUTE.value,
        seconds=lease_seconds(unit.flops, unit.input_bytes + unit.output_bytes, want.flops_per_s),
        copy=unit.issued,
        unit=unit.id,
        wanted=unit.wanted,
        unit_uid=unit.uid,
        flops=unit.flops,
        memory=unit.memory,
        input_bytes=unit.input_bytes,
        output_bytes=unit.output_bytes,
        manifest=unit.manifest,
        job=candidate.job,
        lab=candidate.lab,
        lab_key=candidate.lab_key,
        endpoint=candidate.endpoint,
        certificate=candidate.certificate,
    )


_COLUMNS: dict[str, str] = {
    "g_lease": "lease_id",
    "g_unit": "unit",
    "g_copy": "copy",
    "g_role": "role",
    "g_device": "device",
    "g_class": "device_class",
    "g_seconds": "seconds",
    "g_lab": "lab",
    "g_job": "job",
    "g_flops": "flops",
    "g_bytes": "output_bytes",
}


def columns(grants: Sequence[Grant]) -> dict[str, list[Any]]:
    """The grants as arrays, for the statement that writes the whole answer."""
    arrays: dict[str, list[Any]] = {
        name: [getattr(grant, attribute) for grant in grants]
        for name, attribute in _COLUMNS.items()
    }
    arrays["g_filled"] = [grant.unit for grant in grants if grant.wanted == 1]
    arrays["g_begun"] = [grant.unit for grant in grants if grant.wanted > 1]
    return arrays
