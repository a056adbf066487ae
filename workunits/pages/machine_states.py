"""What a machine does now, as far as the site knows: a sentence, why, since when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workunits import switches
from workunits.models.hosts import PAUSED, STOPPING
from workunits.pages import words

SILENT = timedelta(minutes=3)
"""A running client speaks at least once a minute."""
SLOWED_DOWN_SILENT = timedelta(minutes=65)
"""A client that was slowed down comes back after an hour at most."""
PAUSED_SILENT = timedelta(minutes=15)


class Facts(NamedTuple):
    """What the rows of a host and of its leases say."""

    doing: str
    doing_since: datetime
    resumes: datetime | None
    last_seen: datetime
    now: datetime
    open: int
    """Units in hand whose lease has not run out."""
    reported: int
    """Results that wait for a verdict."""
    switched_off: str = ""
    """What an operator says to its person while nothing is leased to it."""
    token_ended: datetime | None = None


class State(NamedTuple):
    """`kind`: done, info, waiting or refused, as the pages' components take it."""

    kind: str
    text: str
    reason: str
    since: datetime


def state_of(facts: Facts) -> State:
    """The sentence for these facts."""
    if facts.token_ended is not None:
        reason = _("Its token has ended. It works again once it joins again; or remove it here.")
        return State("waiting", _("Signed off"), reason, facts.token_ended)
    if facts.doing == STOPPING:
        return State("info", _("Switched off"), _left_over(facts), facts.last_seen)
    if facts.doing == PAUSED:
        return _paused(facts)
    if facts.now - facts.last_seen > _patience(facts):
        return State("waiting", _("Not seen"), _missing(facts), facts.last_seen)
    if facts.open:
        return _working(facts)
    return _idle(facts)


def is_on_line(facts: Facts) -> bool:
    """Whether it may be given work, or works."""
    silent = facts.now - facts.last_seen > _patience(facts) or facts.token_ended is not None
    return facts.doing not in (STOPPING, PAUSED) and not silent


def _patience(facts: Facts) -> timedelta:
    return SLOWED_DOWN_SILENT if facts.doing == "slowed_down" else SILENT


def _working(facts: Facts) -> State:
    text = ngettext("Works on %(units)s unit", "Works on %(units)s units", facts.open)
    return State("done", text % {"units": facts.open}, facts.switched_off, facts.doing_since)


def _paused(facts: Facts) -> State:
    reason = _("You paused it; it goes on when you say resume.")
    if facts.resumes is not None:
        reason = _("You paused it; it goes on by itself when the time is over.")
    if facts.now - facts.last_seen > PAUSED_SILENT:
        reason = _("You paused it. It has said nothing since and may be switched off.")
    return State("waiting", _("Paused"), reason, facts.doing_since)


def _missing(facts: Facts) -> str:
    if not facts.open:
        return _("It has said nothing since: it may be switched off or without a connection.")
    text = ngettext(
        "It has said nothing since. The %(units)s unit that it holds goes to another machine when"
        " its time runs out.",
        "It has said nothing since. The %(units)s units that it holds go to other machines when"
        " their time runs out.",
        facts.open,
    )
    return text % {"units": facts.open}


def _left_over(facts: Facts) -> str:
    if not facts.reported:
        return _("Its client was stopped in good order and handed everything back.")
    text = ngettext(
        "Its client was stopped in good order. %(units)s result still waits for a verdict.",
        "Its client was stopped in good order. %(units)s results still wait for a verdict.",
        facts.reported,
    )
    return text % {"units": facts.reported}


def _idle(facts: Facts) -> State:
    if facts.switched_off:
        return State("refused", _("Gets no work"), facts.switched_off, facts.doing_since)
    reason = words.IDLE.get(facts.doing)
    if facts.doing == switches.CODE:
        reason = _("It was switched off by the people who run this site, and asks again.")
    if reason is not None:
        kind = "waiting" if facts.doing in ("slowed_down", "memory_too_small") else "info"
        return State(kind, _("Idle"), str(reason), facts.doing_since)
    if facts.reported:
        text = ngettext(
            "%(units)s result waits for a verdict.",
            "%(units)s results wait for a verdict.",
            facts.reported,
        )
        return State("info", _("Ready"), text % {"units": facts.reported}, facts.doing_since)
    return State("info", _("Ready"), _("It asks for work."), facts.doing_since)
