"""What happened to a unit, in order: from its leases, events, verdicts and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

from django.utils.translation import gettext as _

from goblin_wire.states import LeaseState
from gpugoblin_site import readable
from workunits.admin.filters import LEASE_STATES
from workunits.database import Row, rows
from workunits.models import Unit
from workunits.pages import words

WINDOWS = 12
"""Leases around whose times events are looked for."""
EVENTS = 20_000
"""Events that are looked at from each of these times on."""

_LEASES = """
SELECT l.id, l.copy, l.account_id, l.host_id, h.uid AS host, l.device, l.device_class, l.state,
       l.code, l.reason, l.seconds, l.created, v.kind AS verdict, v.code AS verdict_code,
       v.reason AS verdict_reason, v.residual, b.received, c.flops AS credit,
       c.created AS credited
FROM workunits_lease l
LEFT JOIN workunits_host h ON h.id = l.host_id
LEFT JOIN workunits_verdict v ON v.lease_id = l.id
LEFT JOIN workunits_verdictbatch b ON b.id = v.batch_id
LEFT JOIN workunits_creditentry c ON c.lease_id = l.id AND c.kind = 'verified'
WHERE l.unit_id = %(unit)s ORDER BY l.copy, l.id"""

# No index knows the events of a unit, since it would cost every exchange. But their ids grow with
# time, so the place where a lease's events begin is found by halving, and not far behind it they
# lie.
_EVENTS = f"""
WITH RECURSIVE search(at, low, high) AS (
  SELECT s.at, b.low, b.high
  FROM unnest(%(times)s::timestamptz[]) AS s(at)
  CROSS JOIN (SELECT coalesce(min(id), 0) AS low, coalesce(max(id), 0) AS high
              FROM workunits_event) b
  UNION ALL
  SELECT s.at, CASE WHEN m.created < s.at THEN m.id + 1 ELSE s.low END,
         CASE WHEN m.created < s.at THEN s.high ELSE (s.low + s.high) / 2 END
  FROM search s CROSS JOIN LATERAL (
    SELECT e.id, e.created FROM workunits_event e
    WHERE e.id >= (s.low + s.high) / 2 ORDER BY e.id LIMIT 1) m
  WHERE s.low < s.high
), starts AS (SELECT DISTINCT low AS id FROM search WHERE low >= high)
SELECT DISTINCT x.id, x.kind, x.code, x.reason, x.lease_id, x.created
FROM starts s CROSS JOIN LATERAL (
  SELECT * FROM workunits_event e WHERE e.id >= s.id ORDER BY e.id LIMIT {EVENTS}) x
WHERE x.unit_id = %(unit)s ORDER BY x.id"""  # noqa: S608 - a number


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened; `kind` is an icon's, as the timeline takes it."""

    when: datetime
    kind: str
    text: str
    who: str = ""
    place: int = 0
    """The order of things that happened at the same time."""


def story(unit: Unit) -> list[Moment]:
    """Registered, leased, reported, judged, given out again, accepted, credited: in that order.

    In three queries, each answered by an index. Times of events that are no longer kept, or that
    lie too far behind their lease in a busy network, are left out; what became of a lease is not.
    """
    leases = rows(_LEASES, {"unit": unit.pk})
    events = _events_of(unit, leases)
    found = [_registered(unit)]
    for lease in leases:
        of_it = [each for each in events if each.lease_id == lease.id]
        found += _of_lease(lease, of_it)
        if lease.id == unit.chosen:
            found.append(_accepted(lease, of_it))
    found += [_of_unit(each) for each in events if each.lease_id is None]
    return sorted(found, key=attrgetter("when", "place"))


def _events_of(unit: Unit, leases: list[Row]) -> list[Row]:
    times: list[datetime] = []
    for lease in leases[:WINDOWS]:
        times.append(lease.created - timedelta(seconds=1))
        if lease.state == LeaseState.EXPIRED:
            times.append(lease.created + timedelta(seconds=lease.seconds - 1))
        if lease.received is not None:
            times.append(lease.received - timedelta(seconds=1))
    if not times:
        return []
    return rows(_EVENTS, {"unit": unit.pk, "times": [time.isoformat() for time in times]})


def _registered(unit: Unit) -> Moment:
    said = _(
        "Its job was registered; the unit is number %(position)s of it: %(flops)s,"
        " %(input)s to send, %(output)s to get back."
    )
    values = {
        "position": readable.number(unit.position),
        "flops": readable.flops(unit.flops),
        "input": readable.amount_of_bytes(unit.input_bytes),
        "output": readable.amount_of_bytes(unit.output_bytes),
    }
    return Moment(unit.job.created, "info", said % values, str(unit.lab))


def _of_lease(lease: Row, events: list[Row]) -> list[Moment]:
    who = _("account %(id)d") % {"id": lease.account_id}
    found = [_leased(lease, who)]
    told = {each.kind: each for each in events}
    if "reported" in told:
        said = _("Reported: the result is at the lab, which checks it.")
        found.append(Moment(told["reported"].created, "info", said, who, 1))
    if lease.received is not None:
        found.append(_verdict(lease))
    elif lease.state not in (LeaseState.OPEN, LeaseState.REPORTED):
        found.append(_ended(lease, events, who))
    if lease.credit is not None:
        said = _("Credited: %(flops)s.") % {"flops": readable.flops(lease.credit)}
        found.append(Moment(lease.credited, "done", said, who, 4))
    return found


def _leased(lease: Row, who: str) -> Moment:
    said = (
        _("Leased to machine %(host)s for %(time)s: copy %(copy)s, on %(device)s (%(class)s).")
        if not lease.copy
        else _(
            "Given out again, to machine %(host)s for %(time)s: copy %(copy)s, on %(device)s"
            " (%(class)s)."
        )
    )
    values = {
        "host": "-" if lease.host is None else lease.host.hex[:12],
        "time": readable.duration(lease.seconds),
        "copy": lease.copy + 1,
        "device": lease.device,
        "class": lease.device_class or "-",
    }
    return Moment(lease.created, "waiting", said % values, who)


def _verdict(lease: Row) -> Moment:
    kind, text = {
        "accepted": ("done", _("The lab's verdict: right.")),
        "rejected": ("refused", _("The lab's verdict: wrong.")),
    }.get(lease.verdict, ("waiting", _("The lab did not use the result; nobody is blamed.")))
    parts = [text]
    if lease.verdict_code != "ok":
        parts.append(words.refusal(lease.verdict_code))
    if lease.verdict_reason:
        parts.append(lease.verdict_reason)
    if lease.residual is not None:
        parts.append(_("Residual over its bound: %(share).3g.") % {"share": lease.residual})
    return Moment(lease.received, kind, " ".join(parts), _("the lab"), 2)


def _ended(lease: Row, events: list[Row], who: str) -> Moment:
    """The end of a lease without a verdict; its time from the event, if that is still there."""
    last = events[-1] if events and events[-1].kind not in ("leased", "reported") else None
    state = LEASE_STATES.get(lease.state, lease.state)
    parts = [_("The lease ended: %(state)s.") % {"state": state}]
    if lease.code != "ok" and lease.code in words.REFUSALS:
        parts.append(words.refusal(lease.code))
    if lease.reason:
        parts.append(lease.reason)
    if last is None:
        parts.append(_("When that was is not known any more."))
    kind = "waiting" if lease.state == LeaseState.EXPIRED else "info"
    return Moment(lease.created if last is None else last.created, kind, " ".join(parts), who, 1)


def _of_unit(event: Row) -> Moment:
    said = {
        "quarantined": _("Put aside for an operator: %(reason)s"),
        "released": _("An operator lets it be given out again. %(reason)s"),
    }.get(event.kind, f"{event.kind}: %(reason)s")
    kind = "refused" if event.kind == "quarantined" else "info"
    return Moment(event.created, kind, (said % {"reason": event.reason or event.code}), "", 3)


def _accepted(lease: Row, events: list[Row]) -> Moment:
    """With the credit, which the same transaction wrote; else as late as anything is known."""
    times = [lease.created, lease.received, *(each.created for each in events)]
    when = lease.credited or max(time for time in times if time is not None)
    said = _("Accepted: the result of lease %(lease)s is used.") % {"lease": lease.id.hex[-8:]}
    return Moment(when, "done", said, "", 3)
