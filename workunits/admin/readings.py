"""The rows of the cockpit: what is read, its limit, and what to do beyond it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from goblin_wire.states import RequestState
from gpugoblin_site import __version__, readable
from gpugoblin_site.mail import figures as outbox_figures
from research_access.models import AccessRequest
from workunits import statistics
from workunits.admin.disk import Room
from workunits.admin.filters import LEASE_STATES
from workunits.database import Row
from workunits.models import Measured, Switch, SwitchKind
from workunits.pages import words

SILENT_S = 30
"""The scheduler gives a sign of life every five seconds."""
OLDEST_REQUEST = timedelta(days=3)
OLDEST_WORK = timedelta(days=1)
SLOWEST_VERDICT_S = 600
MOST_REFUSED = 0.02
LEAST_LEASES = 100
"""Below this a share of refusals says nothing."""
LATEST_MAIL_S = 900
LONGEST_STOP_S = 300
MOST_UNDELIVERED = 0.05
FEWEST_UNDELIVERED = 5
"""Fewer are people who mistyped their address."""
LEAST_ROOM = 0.1
LONGEST_SWITCH = timedelta(days=7)
MOST_OTHER_VERSIONS = 0.5
SHOWN = 8
"""Classes of refusals and client versions that are named."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row. `kind`: done (within its limit), waiting (look at it), refused (beyond its limit),
    info (not known)."""

    label: str
    kind: str
    value: str
    limit: str
    how_to: str
    url: str = ""
    """Where what is counted can be seen."""
    details: list[str] = field(default_factory=list)


def scheduler(now: Row, measured: Measured | None) -> Line:
    limit = _("silent for at most %(time)s") % {"time": readable.duration(SILENT_S)}
    if now.silence is None:
        text = _("It has never run.")
        return Line(_("Scheduler"), "refused", text, limit, "scheduler")
    is_late = measured is not None and statistics.is_old(measured)
    text = _("heard %(time)s ago") % {"time": readable.duration(now.silence)}
    if measured is not None and is_late:
        text += "; " + _("its figures are from %(time)s") % {"time": readable.ago(measured.at)}
    kind = "refused" if now.silence > SILENT_S or is_late else "done"
    return Line(_("Scheduler"), kind, text, limit, "scheduler")


def requests() -> Line:
    waiting = AccessRequest.objects.filter(state=RequestState.SUBMITTED.value)
    found = waiting.aggregate(number=Count("pk"), oldest=Min("submitted"))
    limit = _("the oldest waits for at most %(time)s") % {"time": readable.duration(OLDEST_REQUEST)}
    url = reverse("admin:research_access_accessrequest_changelist")
    text = _("%(number)s wait") % {"number": readable.number(found["number"])}
    kind = "done"
    if found["oldest"] is not None:
        text += ", " + _("the oldest since %(time)s") % {"time": readable.ago(found["oldest"])}
        kind = "refused" if timezone.now() - found["oldest"] > OLDEST_REQUEST else "done"
    return Line(_("Review queue"), kind, text, limit, "review-queue", url)


def oldest(now: Row) -> Line:
    label = _("Oldest waiting unit")
    limit = _("its job is at most %(time)s old") % {"time": readable.duration(OLDEST_WORK)}
    url = reverse("admin:workunits_job_changelist", query={"state": "open"})
    if now.oldest is None:
        return Line(label, "done", _("no unit waits"), limit, "waiting-units", url)
    is_old = timezone.now() - now.oldest > OLDEST_WORK
    text = _("of a job registered %(time)s") % {"time": readable.ago(now.oldest)}
    return Line(label, "refused" if is_old else "done", text, limit, "waiting-units", url)


def network(measured: Measured) -> Line:
    text = _("%(machines)s machines, %(labs)s lab nodes; %(open)s units in hand, %(waiting)s wait")
    values = {
        "machines": readable.number(measured.machines),
        "labs": readable.number(measured.labs),
        "open": readable.number(measured.open_leases),
        "waiting": readable.number(measured.waiting),
    }
    kind = "done" if measured.machines and measured.labs else "waiting"
    limit = _("at least one of each")
    url = reverse("admin:workunits_host_changelist")
    return Line(_("On line"), kind, text % values, limit, "nobody-on-line", url)


def verifying(measured: Measured) -> Line:
    label = _("From report to verified")
    limit = _("p95 at most %(time)s") % {"time": readable.duration(SLOWEST_VERDICT_S)}
    url = reverse("admin:workunits_labnode_changelist")
    waits = _("%(number)s results wait for a verdict") % {
        "number": readable.number(measured.reported)
    }
    if measured.verify_p50_s is None or measured.verify_p95_s is None:
        text = _("no result was verified lately")
        return Line(label, "done", text, limit, "slow-verdicts", url, [waits])
    text = _("p50 %(p50)s, p95 %(p95)s, over the last %(number)s results") % {
        "p50": seconds(measured.verify_p50_s),
        "p95": seconds(measured.verify_p95_s),
        "number": readable.number(measured.verify_results),
    }
    kind = "refused" if measured.verify_p95_s > SLOWEST_VERDICT_S else "done"
    return Line(label, kind, text, limit, "slow-verdicts", url, [waits])


def seconds(value: float) -> str:
    """Short spans with a decimal: 1.2 s."""
    if value < 60:
        return f"{readable.number(value, 1)}{readable.SPACE}s"
    return readable.duration(value)


def refusals(measured: Measured) -> Line:
    refused = sum(n for name, n in measured.refusals.items() if name.startswith("rejected/"))
    share = refused / max(1, measured.leases_looked_at)
    text = _("%(refused)s of the last %(leases)s leases refused (%(share)s %%)") % {
        "refused": readable.number(refused),
        "leases": readable.number(measured.leases_looked_at),
        "share": readable.number(100 * share, 1),
    }
    is_bad = share > MOST_REFUSED and measured.leases_looked_at >= LEAST_LEASES
    classes = sorted(measured.refusals.items(), key=lambda each: -each[1])[:SHOWN]
    return Line(
        _("Refusals"),
        "refused" if is_bad else "done",
        text,
        _("at most %(share)s %% of at least %(leases)s")
        % {
            "share": readable.number(100 * MOST_REFUSED),
            "leases": readable.number(LEAST_LEASES),
        },
        "refusals",
        reverse("admin:workunits_host_changelist", query={"refused": "rate"}),
        [_class(name, leases) for name, leases in classes],
    )


def _class(name: str, leases: int) -> str:
    """Leases that came to nothing, by what became of them and why."""
    state, _slash, code = name.partition("/")
    told = str(LEASE_STATES.get(state, state))
    if code != "ok":
        told = f"{told} ({code}): {words.refusal(code)}"
    return f"{readable.number(leases)} {told}"


def put_aside(measured: Measured) -> Line:
    url = reverse("admin:workunits_unit_changelist", query={"state": "quarantined"})
    kind = "refused" if measured.quarantined else "done"
    text = readable.number(measured.quarantined)
    return Line(_("Units put aside"), kind, text, pgettext("limit", "none"), "put-aside", url)


def disputed(measured: Measured) -> Line:
    url = reverse("admin:workunits_job_changelist", query={"state": "paused"})
    kind = "refused" if measured.disputed else "done"
    text = readable.number(measured.disputed)
    return Line(_("Disputed jobs"), kind, text, pgettext("limit", "none"), "disputed-jobs", url)


def versions(measured: Measured) -> Line:
    machines = sum(measured.versions.values())
    others = machines - measured.versions.get(__version__, 0)
    text = _("%(others)s of %(machines)s machines have another version than this site (%(ours)s)")
    values = {
        "others": readable.number(others),
        "machines": readable.number(machines),
        "ours": __version__,
    }
    is_bad = machines and others / machines > MOST_OTHER_VERSIONS
    return Line(
        _("Client versions"),
        "waiting" if is_bad else "done",
        text % values,
        _("at most half"),
        "client-versions",
        details=[
            f"{version or '-'}: {readable.number(number)}"
            for version, number in list(measured.versions.items())[:SHOWN]
        ],
    )


def mail() -> Line:
    found = outbox_figures.summary()
    text = _("%(due)s to be sent now; in 24 hours %(sent)s sent, %(lost)s not delivered") % {
        "due": readable.number(found.due + found.sending),
        "sent": readable.number(found.sent),
        "lost": readable.number(found.undelivered),
    }
    limit = _(
        "none later than %(late)s, no mail server out of use for %(stopped)s, at most %(share)s %%"
        " not delivered (from %(fewest)s mails on)"
    ) % {
        "late": readable.duration(LATEST_MAIL_S),
        "stopped": readable.duration(LONGEST_STOP_S),
        "share": readable.number(100 * MOST_UNDELIVERED),
        "fewest": readable.number(FEWEST_UNDELIVERED),
    }
    url = reverse("admin:gpugoblin_site_outboxmail_changelist")
    return Line(_("Mail"), _mail_kind(found), text, limit, "mail", url, _of_no_use(found))


def _mail_kind(found: outbox_figures.Summary) -> str:
    lost = found.undelivered
    is_much = lost >= FEWEST_UNDELIVERED and lost > MOST_UNDELIVERED * (found.sent + lost)
    is_late = found.oldest_s > LATEST_MAIL_S or found.stopped_s > LONGEST_STOP_S
    if is_late or is_much:
        return "refused"
    return "waiting" if lost else "done"


def _of_no_use(found: outbox_figures.Summary) -> list[str]:
    if not found.expired:
        return []
    told = ngettext(
        "%(number)s more was too old to be of use when its turn came",
        "%(number)s more were too old to be of use when their turn came",
        found.expired,
    )
    return [told % {"number": readable.number(found.expired)}]


def disk(room: Room, database_bytes: int) -> Line:
    text = _("%(free)s of %(size)s free where the site keeps its state; the database has %(data)s")
    values = {
        "free": readable.amount_of_bytes(room.free),
        "size": readable.amount_of_bytes(room.size),
        "data": readable.amount_of_bytes(database_bytes),
    }
    limit = _("at least %(share)s %% free") % {"share": readable.number(100 * LEAST_ROOM)}
    kind = "refused" if room.free < LEAST_ROOM * room.size else "done"
    return Line(_("Disk"), kind, text % values, limit, "disk")


def switches() -> Line:
    found = list(Switch.objects.order_by("since").values_list("kind", "since"))
    limit = _("none for longer than %(time)s") % {"time": readable.duration(LONGEST_SWITCH)}
    url = reverse("admin:workunits_switch_changelist")
    if not found:
        return Line(_("Switches"), "done", _("nothing is switched off"), limit, "switches", url)
    text = _("%(number)s on, the oldest since %(time)s") % {
        "number": readable.number(len(found)),
        "time": readable.ago(found[0][1]),
    }
    is_all = any(kind == SwitchKind.EVERYTHING for kind, _since in found)
    is_old = timezone.now() - found[0][1] > LONGEST_SWITCH
    kind = "refused" if is_all or is_old else "waiting"
    return Line(_("Switches"), kind, text, limit, "switches", url)
