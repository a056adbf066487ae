"""What to do when a row of the cockpit is beyond its limit: short pages, one for each."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from workunits.pages.words import Text


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do; `command` is typed on the site's machine."""

    text: Text
    command: str = ""


@dataclass(frozen=True, slots=True)
class HowTo:
    title: Text
    meaning: Text
    steps: tuple[Step, ...]


HOW_TO: dict[str, HowTo] = {
    "scheduler": HowTo(
        _("The scheduler is silent"),
        _(
            "Without it leases do not expire, labs are not probed, mail is not sent, and the"
            " figures of the status page stand still. Machines go on computing meanwhile."
        ),
        (
            Step(
                _("See whether its process runs, and start it where it does not."),
                "manage.py runscheduler",
            ),
            Step(
                _(
                    "A second one waits until the first has gone. If both wait, a connection still"
                    " holds their lock: find it in the database and end it."
                ),
                "SELECT pid, state, query_start FROM pg_stat_activity"
                " WHERE application_name = 'gpugoblin-scheduler';",
            ),
            Step(
                _(
                    "If it runs but the figures are old, one of its tasks does not come through:"
                    " its log names the task."
                )
            ),
        ),
    ),
    "review-queue": HowTo(
        _("Requests for access wait too long"),
        _("Researchers read how long the last requests waited, so they expect the same."),
        (
            Step(_("Ask the reviewers to look at the queue; the oldest request is at its top.")),
            Step(
                _(
                    "If there are too few reviewers, a superuser gives the role to somebody: open"
                    " the account and choose the role reviewer."
                )
            ),
        ),
    ),
    "waiting-units": HowTo(
        _("A unit has waited for long"),
        _(
            "The oldest open job has units that nobody took. That is in order where the network is"
            " small; where machines idle it is not."
        ),
        (
            Step(_("Open the list of open jobs, go to its end, and see whose job it is.")),
            Step(
                _(
                    "See whether its lab can be reached, has quota left and room in its window: the"
                    " page of the lab's node says so."
                )
            ),
            Step(
                _(
                    "If it needs more memory than the machines on line have, tell the lab: its"
                    " units must be cut smaller."
                )
            ),
            Step(
                _(
                    "A lab that has gone for good leaves its jobs open: suspend the lab, so that"
                    " they no longer count against those who wait."
                )
            ),
        ),
    ),
    "nobody-on-line": HowTo(
        _("No machines or no labs are on line"),
        _("Without both of them nothing is computed."),
        (
            Step(
                _(
                    "If all have gone at once, the fault is here: try the address of the site from"
                    " outside, and the one of the waiting process."
                ),
                "curl -fsS https://SITE/healthz; curl -fsS https://WAIT/healthz",
            ),
            Step(_("See whether a switch is on that stops everything or the common version.")),
        ),
    ),
    "slow-verdicts": HowTo(
        _("Results are verified slowly"),
        _(
            "A lab checks its results itself. While they wait, its volunteers wait for their credit"
            " and keep their results."
        ),
        (
            Step(
                _(
                    "Find the lab: in the list of lab nodes it is one that was not seen for long,"
                    " or one whose window is small and full."
                )
            ),
            Step(
                _(
                    "Write to its owner: the node's machine may be too slow for what its volunteers"
                    " compute, and goblin-lab doctor says what is wrong."
                )
            ),
            Step(
                _(
                    "A report without a verdict for seven days ends without blame. Until then"
                    " nothing needs to be done here."
                )
            ),
        ),
    ),
    "refusals": HowTo(
        _("Many results are refused"),
        _(
            "Wrong results are found and not used, so no lab is harmed; but work is lost. One"
            " faulty machine, a faulty client version and a faulty lab look different."
        ),
        (
            Step(
                _(
                    "Open the machines with refusals. If one or two stand out, switch those off,"
                    " and say in the sentence what their people can do: the clock rate, the"
                    " memory, the driver."
                )
            ),
            Step(
                _(
                    "If machines of one client version stand out, switch that version off and name"
                    " the version to install."
                )
            ),
            Step(
                _(
                    "If all refusals come from one lab, its check may be wrong: open one of the"
                    " units, read its story, and switch the lab off until it is clear."
                )
            ),
        ),
    ),
    "put-aside": HowTo(
        _("Units were put aside"),
        _(
            "Several accounts could not compute them, or they were given out too often. Nobody gets"
            " them until an operator says so, and their job cannot end."
        ),
        (
            Step(_("Open one and read its story: the reasons of the machines are in it.")),
            Step(
                _(
                    "If the machines were at fault, choose the units in the list and give them out"
                    " again."
                )
            ),
            Step(
                _(
                    "If the unit itself is at fault, tell the lab: it can cancel the job. Do not"
                    " give it out again before."
                )
            ),
        ),
    ),
    "disputed-jobs": HowTo(
        _("A job is disputed"),
        _(
            "Two accounts computed other costs from its graphs than the lab had stated, so the site"
            " paused it. Credit follows the stated costs, so they must be right."
        ),
        (
            Step(_("Ask the lab which version of its program registered the job.")),
            Step(
                _(
                    "When it is right, choose the job in the list and let it go on. When it is not,"
                    " the lab cancels it and registers another."
                )
            ),
        ),
    ),
    "mail": HowTo(
        _("Mail is late, failed or came back"),
        _(
            "People cannot log in without their code, and do not hear of decisions. The row is"
            " beyond its limit when a mail is 15 minutes late, when the mail server has been out of"
            " use for 5 minutes while a mail waits for it, or when at least 5 mails and more than"
            " 5 % of a day's could not be delivered. Fewer are to be looked at. Codes that nobody"
            " could use any more when their turn came are told, and not counted."
        ),
        (
            Step(
                _("Try the settings: it sends a mail and says what the server answered."),
                "manage.py mail_check",
            ),
            Step(
                _(
                    "While the mail server is down people can be let in with a code that you give"
                    " them by other means."
                ),
                "manage.py login_code EMAIL",
            ),
            Step(
                _(
                    "Open the outbox: each mail says why it waits or failed. What failed for a"
                    " fault of the server can be tried again there; an address that came back"
                    " cannot."
                )
            ),
        ),
    ),
    "disk": HowTo(
        _("The disk is nearly full"),
        _("A full disk stops the database, and with it everything."),
        (
            Step(_("See what takes the room."), "df -h; du -xsh /var/lib/* | sort -h | tail"),
            Step(
                _(
                    "Logs and copies of the database go first. Tables are cleaned by the scheduler:"
                    " events after 30 days; leases, verdicts and the ledger are kept for good, so a"
                    " growing network needs a growing disk."
                )
            ),
        ),
    ),
    "client-versions": HowTo(
        _("Many machines have another version"),
        _(
            "Old clients go on working while their protocol is spoken. But they lack what was"
            " mended since."
        ),
        (
            Step(_("Tell the volunteers that a new version is there.")),
            Step(
                _(
                    "Switch an old version off only if it does harm: its machines then idle until"
                    " their people install another."
                )
            ),
        ),
    ),
    "switches": HowTo(
        _("Something is switched off"),
        _(
            "Switches are meant for hours or days. Who is concerned reads the sentence with each"
            " poll; units in hand may finish."
        ),
        (
            Step(_("Open the switch and read why it was set, and by whom.")),
            Step(_("Lift it when the reason is gone; say in a word what was done.")),
            Step(
                _(
                    "An account that does harm on purpose is suspended, not switched off; a lab"
                    " whose approval no longer holds is revoked."
                )
            ),
        ),
    ),
}


def page(request: HttpRequest, site: AdminSite, slug: str) -> HttpResponse:
    """One of them; raises `Http404` for another."""
    found = HOW_TO.get(slug)
    if found is None:
        raise Http404
    others = [(name, each.title) for name, each in HOW_TO.items() if name != slug]
    context = site.each_context(request) | {
        "title": found.title,
        "how_to": found,
        "others": others,
    }
    return render(request, "admin/workunits/how_to.html", context)
