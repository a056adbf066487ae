"""Why a job goes on or waits, as far as the site knows: a state, and a sentence."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from goblin_wire.protocol import LAB_SEEN_S, MIB
from gpugoblin_site import sentences
from workunits import limits, switches
from workunits.database import Row, row
from workunits.models import JobState

_LAB = f"""
SELECT l.id, l.key, l.name, l.state, l.daily_flops, n.last_seen, n.reachable, n.probe_code,
       n.probe_reason, n.window_units, n.window_bytes, coalesce(d.flops, 0) AS used_flops,
       now() AS now,
       f.units AS in_flight, f.bytes AS bytes_in_flight, f.flops AS flops_in_flight,
       w.devices, w.memory
FROM research_access_lab l
JOIN research_access_labmember m ON m.lab_id = l.id AND m.account_id = %(account)s
LEFT JOIN workunits_labnode n ON n.lab_id = l.id
LEFT JOIN workunits_labday d
  ON d.lab_id = l.id AND d.day = (now() AT TIME ZONE 'UTC')::date
CROSS JOIN LATERAL (
  SELECT count(*) AS units, coalesce(sum(p.output_bytes), 0) AS bytes,
         coalesce(sum(p.flops), 0) AS flops
  FROM workunits_pendinglease p WHERE p.lab_id = l.id AND p.live) f
CROSS JOIN LATERAL (
  SELECT count(*) AS devices, coalesce(max(memory), 0) AS memory FROM workunits_device
  WHERE last_seen > now() - make_interval(secs => {limits.ONLINE_S})) w
WHERE l.key = %(key)s"""  # noqa: S608


class LabFacts(NamedTuple):
    """A lab, its node, what it has in flight, and the machines that are there."""

    id: int
    key: UUID
    name: str
    is_active: bool
    seen: datetime | None
    """When its node was heard of last; none if it never was."""
    now: datetime
    is_reachable: bool
    unreachable_because: str
    """In the reader's language; empty where it can be reached."""
    quota_left: bool
    window_open: bool
    devices: int
    memory: int
    """The most that a device on line offers for a unit, in bytes."""
    daily_flops: int
    used_flops: float
    switched_off: str

    @property
    def is_on_line(self) -> bool:
        return self.seen is not None and self.now - self.seen < timedelta(seconds=LAB_SEEN_S)


class JobFacts(NamedTuple):
    """What the rows of a job and of its units say."""

    state: str
    code: str
    reason: str
    created: datetime
    closed: datetime | None
    units: int
    registered: int
    verified: int
    in_hand: int
    """Units that machines compute now."""
    reported: int
    """Results that the lab has yet to check."""
    put_aside: int
    memory: int | None
    """The least that one of its waiting units needs, in bytes; none where none waits."""


class JobStanding(NamedTuple):
    """`kind`: done, info, waiting or refused, as the pages' components take it."""

    kind: str
    text: str
    reason: str
    said: str = ""
    """Why, in the words of the lab node or of its person."""


def lab_of(account: int, key: UUID) -> LabFacts | None:
    """The lab with this key if the account is a member of it."""
    lab = row(_LAB, {"account": account, "key": key})
    if lab is None:
        return None
    off = switches.of_labs([lab.id], get_language() or "en")
    return LabFacts(
        id=lab.id,
        key=lab.key,
        name=lab.name,
        is_active=lab.state == "active",
        seen=lab.last_seen,
        now=lab.now,
        is_reachable=bool(lab.reachable),
        unreachable_because="" if lab.reachable else _why_unreachable(lab),
        quota_left=lab.daily_flops > lab.used_flops + float(lab.flops_in_flight),
        window_open=lab.in_flight < (lab.window_units or 0)
        and lab.bytes_in_flight < (lab.window_bytes or 0),
        devices=lab.devices,
        memory=lab.memory,
        daily_flops=lab.daily_flops,
        used_flops=lab.used_flops,
        switched_off=off.get(lab.id, ""),
    )


def standing_of(job: JobFacts, lab: LabFacts) -> JobStanding:
    """The state of one job, and why it is not further."""
    if job.state == JobState.PAUSED:
        return _paused(job)
    if job.state == JobState.CANCELLED:
        return JobStanding("refused", _("Cancelled"), "", job.reason)
    if job.state == JobState.FINISHED:
        return JobStanding("done", _("Finished"), _put_aside(job))
    if job.units and job.verified >= job.units:
        return JobStanding("done", _("All verified"), _("The lab node has yet to close it."))
    return _open(job, lab)


def _why_unreachable(lab: Row) -> str:
    if not lab.probe_code or lab.probe_code == "not_probed":
        return _("The site is still trying its address.")
    is_english = (get_language() or "en").startswith("en")
    return str(lab.probe_reason if is_english else sentences.of_code(lab.probe_code))


def _paused(job: JobFacts) -> JobStanding:
    if job.code == "cost_mismatch":
        reason = _(
            "Several volunteers computed other costs from its units than the lab node had stated."
            " The people who run this site look at it."
        )
        return JobStanding("refused", _("Paused by the site"), reason)
    return JobStanding("waiting", _("Paused by the lab"), "", job.reason)


def _open(job: JobFacts, lab: LabFacts) -> JobStanding:
    hindrance = _hindrance(job, lab)
    if job.in_hand:
        return JobStanding("done", _("Being computed"), hindrance or _put_aside(job))
    if hindrance:
        return JobStanding("waiting", _("Waits"), hindrance)
    if job.reported:
        return JobStanding("info", _("Being checked"), _("Its results wait for the lab's check."))
    if job.memory is None and job.registered < job.units:
        return JobStanding("info", _("Waits"), _("The lab node is preparing its units."))
    if job.put_aside:
        return JobStanding("refused", _("Stands still"), _put_aside(job))
    return JobStanding("waiting", _("Waits"), _("No machine has asked for one of its units yet."))


def _hindrance(job: JobFacts, lab: LabFacts) -> str:
    """What keeps its units from going out now; nothing where none waits or all is well."""
    if lab.switched_off:
        return lab.switched_off
    if not lab.is_active:
        return _("The lab is suspended; its owner can write to contact@gpugoblin.com.")
    if job.memory is None and not job.registered < job.units:
        return ""
    return _of_node(lab) or _of_limits(lab) or _of_machines(job, lab)


def _of_node(lab: LabFacts) -> str:
    if lab.seen is None:
        return _("The lab's node has never been heard of: start it with goblin-lab serve.")
    if not lab.is_on_line:
        return _("The lab's node is off line: nothing of it is given out until it comes back.")
    if not lab.is_reachable:
        reason = _("Volunteers cannot reach the lab's node: %(reason)s")
        return reason % {"reason": lab.unreachable_because}
    return ""


def _of_limits(lab: LabFacts) -> str:
    if not lab.quota_left:
        return _("Today's quota of the lab is used up; the next day begins at 00:00 UTC.")
    if not lab.window_open:
        return _("The lab node has as much in flight as it can take in.")
    return ""


def _of_machines(job: JobFacts, lab: LabFacts) -> str:
    if not lab.devices:
        return _("No machine is on line.")
    if job.memory is not None and job.memory > lab.memory:
        text = _(
            "A unit of it needs %(needed)s MiB of memory, and the largest machine on line offers"
            " %(offered)s MiB."
        )
        return text % {"needed": -(-job.memory // MIB), "offered": lab.memory // MIB}
    return ""


def _put_aside(job: JobFacts) -> str:
    if not job.put_aside:
        return ""
    text = ngettext(
        "%(units)s unit was put aside after too many failures; the people who run this site look"
        " at it.",
        "%(units)s units were put aside after too many failures; the people who run this site look"
        " at them.",
        job.put_aside,
    )
    return text % {"units": job.put_aside}
