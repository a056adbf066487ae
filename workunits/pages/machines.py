"""Machines as their person sees them: so many queries, however many machines there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from workunits import switches
from workunits.database import Row, row, rows
from workunits.pages.machine_states import Facts, State, is_on_line, state_of
from workunits.pages.paging import Pages

PAGE = 50
_COLUMNS = """
    h.id, h.uid, h.label, h.version, h.doing, h.doing_since, h.resumes, h.created, h.last_seen,
    h.accepted, h.rejected, now() AS now, t.ended AS token_ended"""

# A token that was revoked, at the client by `leave` or in the account, or that is too old.
_FROM = """workunits_host h LEFT JOIN LATERAL (
  SELECT coalesce(revoked, expires) AS ended FROM accounts_apitoken
  WHERE id = h.token_id AND (revoked IS NOT NULL OR expires <= now())) t ON true"""

# Those that are there first, then by name.
_HOSTS = f"""
SELECT {_COLUMNS} FROM {_FROM}
WHERE h.account_id = %(account)s AND h.removed IS NULL
ORDER BY h.last_seen > now() - interval '1 day' DESC, h.label = '', lower(h.label), h.id
LIMIT %(limit)s OFFSET %(offset)s"""  # noqa: S608

_COUNT = """
SELECT count(*) AS machines FROM workunits_host h
WHERE h.account_id = %(account)s AND h.removed IS NULL"""

_HOST = f"""
SELECT {_COLUMNS} FROM {_FROM}
WHERE h.account_id = %(account)s AND h.uid = %(uid)s AND h.removed IS NULL"""  # noqa: S608

_DEVICES = """
SELECT host_id, name, device_class, memory, flops_per_s FROM workunits_device
WHERE host_id = ANY(%(hosts)s) ORDER BY host_id, name"""

_IN_HAND = """
SELECT p.host_id, l.device, count(*) FILTER (WHERE p.live AND p.open) AS open,
       count(*) FILTER (WHERE p.live AND NOT p.open) AS reported,
       max(p.progress) FILTER (WHERE p.live AND p.open) AS progress,
       count(*) FILTER (WHERE l.state = 'accepted') AS accepted,
       count(*) FILTER (WHERE l.state = 'rejected') AS rejected
FROM workunits_pendinglease p JOIN workunits_lease l ON l.id = p.lease_id
WHERE p.account_id = %(account)s AND p.host_id = ANY(%(hosts)s)
GROUP BY p.host_id, l.device"""


@dataclass(slots=True)
class Device:
    """One device of a machine, and what it does now."""

    name: str
    what: str
    """Its kind, as the client found it; empty where it has not said so."""
    memory: int
    """Bytes that a unit may use."""
    flops_per_s: float
    open: int = 0
    reported: int = 0
    progress: float = 0.0
    """Of the unit that has come furthest, from 0 to 1."""

    @property
    def is_graphics(self) -> bool:
        return self.name.startswith("gpu")

    @property
    def percent(self) -> int:
        return int(100 * self.progress)


@dataclass(slots=True)
class Machine:
    """One machine of the account that looks."""

    id: int
    uid: UUID
    label: str
    version: str
    created: datetime
    last_seen: datetime
    accepted: int
    rejected: int
    state: State
    on_line: bool
    devices: list[Device] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As its person calls it, or by its id."""
        return self.label or _("Machine %(id)s") % {"id": self.uid.hex[:6]}


def machine_pages(account: int) -> Pages:
    """The machines of an account in pages."""

    def count() -> int:
        found = row(_COUNT, {"account": account})
        return 0 if found is None else int(found.machines)

    def read(limit: int, offset: int) -> list[Machine]:
        found = rows(_HOSTS, {"account": account, "limit": limit, "offset": offset})
        return _machines(account, found)

    return Pages(PAGE, count, read)


def find(account: int, uid: UUID) -> Machine | None:
    """The account's machine with this id; none for another's, or one that was removed."""
    found = rows(_HOST, {"account": account, "uid": uid})
    return _machines(account, found)[0] if found else None


def _machines(account: int, found: Sequence[Row]) -> list[Machine]:
    if not found:
        return []
    parameters = {"account": account, "hosts": [each.id for each in found]}
    in_hand: dict[int, list[Row]] = defaultdict(list)
    for each in rows(_IN_HAND, parameters):
        in_hand[each.host_id].append(each)
    devices: dict[int, list[Row]] = defaultdict(list)
    for each in rows(_DEVICES, parameters):
        devices[each.host_id].append(each)
    versions = {each.id: each.version for each in found}
    off = switches.of_machines(account, versions, get_language() or "en")
    return [
        _machine(each, devices[each.id], in_hand[each.id], off.get(each.id, "")) for each in found
    ]


def _machine(host: Row, devices: list[Row], in_hand: list[Row], switched_off: str) -> Machine:
    facts = Facts(
        doing=host.doing,
        doing_since=host.doing_since,
        resumes=host.resumes,
        last_seen=host.last_seen,
        now=host.now,
        open=sum(each.open for each in in_hand),
        reported=sum(each.reported for each in in_hand),
        switched_off=switched_off,
        token_ended=host.token_ended,
    )
    machine = Machine(
        id=host.id,
        uid=host.uid,
        label=host.label,
        version=host.version,
        created=host.created,
        last_seen=host.last_seen,
        # A host's own figures follow when it is told of its verdicts.
        accepted=host.accepted + sum(each.accepted for each in in_hand),
        rejected=host.rejected + sum(each.rejected for each in in_hand),
        state=state_of(facts),
        on_line=is_on_line(facts),
    )
    work = {each.device: each for each in in_hand}
    machine.devices = [_device(each, work.get(each.name)) for each in devices]
    return machine


def _device(device: Row, work: Row | None) -> Device:
    shown = Device(device.name, device.device_class, device.memory, device.flops_per_s)
    if work is not None:
        shown.open, shown.reported = work.open, work.reported
        shown.progress = work.progress or 0.0
    return shown
