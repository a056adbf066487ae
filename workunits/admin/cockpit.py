"""The cockpit: what an operator looks at first. Each row has a limit, and a way to mend it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workunits import statistics
from workunits.admin import readings
from workunits.admin.disk import room_on
from workunits.admin.readings import Line
from workunits.database import row
from workunits.models import Measured

_NOW = """
SELECT (SELECT extract(epoch FROM now() - beat)::float8 FROM workunits_heartbeat
        WHERE name = 'scheduler') AS silence,
       (SELECT min(j.created) FROM workunits_job j
        JOIN research_access_lab l ON l.id = j.lab_id AND l.state = 'active'
        WHERE j.state = 'open'
          AND EXISTS (SELECT 1 FROM workunits_opening o WHERE o.job_id = j.id)) AS oldest,
       pg_database_size(current_database()) AS database_bytes"""


MARKS: dict[str, str | Promise] = {
    "done": gettext_lazy("in order"),
    "waiting": gettext_lazy("look at it"),
    "refused": gettext_lazy("beyond its limit"),
    "info": gettext_lazy("not known"),
}


def page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """All rows, the bad ones first."""
    found = lines()
    order = {"refused": 0, "waiting": 1, "info": 2, "done": 3}
    rows = sorted(found, key=lambda each: order[each.kind])
    context = site.each_context(request) | {
        "title": _("Cockpit"),
        "rows": [(each, MARKS[each.kind]) for each in rows],
        "bad": sum(each.kind == "refused" for each in found),
        "doubtful": sum(each.kind in ("waiting", "info") for each in found),
    }
    return render(request, "admin/workunits/cockpit.html", context)


def lines() -> list[Line]:
    """The state of everything, in five queries."""
    now = row(_NOW)
    assert now is not None  # noqa: S101 - it always gives a row
    measured = statistics.latest()
    room = room_on(settings.GOBLIN_STATE_DIR)
    return [
        readings.scheduler(now, measured),
        readings.requests(),
        readings.oldest(now),
        *(_unmeasured() if measured is None else _measured(measured)),
        readings.mail(),
        readings.disk(room, now.database_bytes),
        readings.switches(),
    ]


def _measured(measured: Measured) -> list[Line]:
    return [
        readings.network(measured),
        readings.verifying(measured),
        readings.refusals(measured),
        readings.put_aside(measured),
        readings.disputed(measured),
        readings.versions(measured),
    ]


def _unmeasured() -> list[Line]:
    text = _("The scheduler has not looked yet.")
    return [Line(_("Machines and labs"), "info", text, "", "scheduler")]


def beyond(_request: HttpRequest) -> str:
    """For the admin's first page: how many rows are beyond their limits."""
    bad = [each.label for each in lines() if each.kind == "refused"]
    if not bad:
        return _("All within their limits.")
    return _("Beyond their limits: %(rows)s.") % {"rows": ", ".join(bad)}
