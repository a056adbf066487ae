"""Incidents: what went wrong with the network, told to everybody on its status page.

Operators write them, correct them and end them. Nothing that was told is lost: each version is a
row of a history that only grows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from workunits.models import Incident, IncidentVersion

ADD_PERMISSION = "workunits.add_incident"
CHANGE_PERMISSION = "workunits.change_incident"
MAX_SENTENCE = 1000
SHOWN_FOR = timedelta(days=90)
"""An incident is on the status page so long after its end."""
MOST_SHOWN = 20
SLACK = timedelta(minutes=2)
"""A clock that runs ahead of ours this much is taken as right."""


class Telling(NamedTuple):
    """What is told of an incident; `ended` is none while it lasts."""

    english: str
    vietnamese: str
    began: datetime
    ended: datetime | None


class Fault(NamedTuple):
    """A sentence about a field."""

    field: str
    sentence: str


@transaction.atomic
def tell(telling: Telling, by: Account) -> Incident:
    """Put a new incident on the status page. Raises `NotAllowed` or `BadMessage`."""
    _require(by, ADD_PERMISSION)
    said = _clean(telling)
    incident = Incident.objects.create(changed=timezone.now(), **_columns(said))
    _remember(incident, by)
    return incident


@transaction.atomic
def correct(incident: int, version: int, telling: Telling, by: Account) -> Incident:
    """Tell it differently, or end it; `version` is the one that the operator had before them.

    Raises `NotAllowed`, `BadMessage`, or `Conflict` where somebody was faster.
    """
    _require(by, CHANGE_PERMISSION)
    said = _clean(telling)
    found = Incident.objects.select_for_update().filter(pk=incident).first()
    if found is None or found.version != version:
        raise Conflict(_("Somebody has changed this incident meanwhile; look at what it says now."))
    columns = _columns(said)
    if all(getattr(found, name) == value for name, value in columns.items()):
        return found
    for name, value in columns.items():
        setattr(found, name, value)
    found.version, found.changed = version + 1, timezone.now()
    found.save()
    _remember(found, by)
    return found


def shown() -> list[Incident]:
    """What the status page tells: those that last, then the last that ended. One query."""
    since = timezone.now() - SHOWN_FOR
    found = Incident.objects.filter(Q(ended=None) | Q(ended__gte=since))
    order = (F("ended").desc(nulls_first=True), F("began").desc(), "-pk")
    return list(found.order_by(*order)[:MOST_SHOWN])


def fault_of_times(began: datetime, ended: datetime | None) -> Fault | None:
    """What is wrong with the times of an incident, if something is."""
    latest = timezone.now() + SLACK
    if began > latest:
        return Fault("began", _("It can't have begun later than now."))
    if ended is not None and ended > latest:
        sentence = _("It can't have ended later than now; leave the end empty until then.")
        return Fault("ended", sentence)
    if ended is not None and ended < began:
        return Fault("ended", _("It can't have ended before it began."))
    return None


def in_language(told: Incident | IncidentVersion, language: str) -> str:
    """The sentence in the reader's language."""
    return told.sentence_vi if language == "vi" else told.sentence_en


def _columns(said: Telling) -> dict[str, object]:
    return {
        "began": said.began,
        "ended": said.ended,
        "sentence_en": said.english,
        "sentence_vi": said.vietnamese,
    }


def _remember(incident: Incident, by: Account) -> None:
    IncidentVersion.objects.create(
        incident=incident,
        version=incident.version,
        began=incident.began,
        ended=incident.ended,
        sentence_en=incident.sentence_en,
        sentence_vi=incident.sentence_vi,
        by=by,
    )


def _require(by: Account, permission: str) -> None:
    if not by.is_staff or not by.has_perm(permission):
        raise NotAllowed(_("Only an operator tells of incidents."))


def _clean(telling: Telling) -> Telling:
    english = clean_name(telling.english, MAX_SENTENCE)
    vietnamese = clean_name(telling.vietnamese, MAX_SENTENCE)
    if not english or not vietnamese:
        raise BadMessage(_("Everybody reads it, so it needs a sentence in both languages."))
    wrong = fault_of_times(telling.began, telling.ended)
    if wrong is not None:
        raise BadMessage(wrong.sentence)
    return Telling(english, vietnamese, telling.began, telling.ended)
