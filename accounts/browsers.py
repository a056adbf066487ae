"""What people recognise a session by: browser and system, nothing finer and no address."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Account, Session
from accounts.sessions import hashed

BROWSER = "browser"
BEGAN = "began"
# The first that is found counts: browsers claim to be their forerunners too.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


class ShownSession(NamedTuple):
    """A session as its owner sees it; `browser` is empty where it was not recognised."""

    key: str
    browser: str
    began: datetime
    last_used: datetime
    is_this: bool


def recognised(user_agent: str) -> str:
    """`Firefox, Linux`; what is not known is left out."""
    parts = (_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))
    return ", ".join(part for part in parts if part)


def of_account(account: Account, request: HttpRequest) -> list[ShownSession]:
    """The sessions that are open, this one first."""
    rows = Session.objects.filter(account=account, expire_date__gt=timezone.now())
    here = hashed(request.session.session_key or "")
    shown = [_shown(row, here) for row in rows.order_by("-last_used")]
    return sorted(shown, key=lambda session: not session.is_this)


def end(account: Account, key: str) -> None:
    """End one of the account's sessions; one that has ended stays ended."""
    Session.objects.filter(account=account, pk=key).delete()


@receiver(user_logged_in)
def note(request: HttpRequest, **_facts: Any) -> None:
    """Keep what the session is recognised by."""
    request.session[BROWSER] = recognised(request.META.get("HTTP_USER_AGENT", ""))
    request.session[BEGAN] = timezone.now().isoformat()


def _shown(row: Session, here: str) -> ShownSession:
    facts = row.get_decoded()
    began = facts.get(BEGAN)
    return ShownSession(
        key=row.pk,
        browser=facts.get(BROWSER, ""),
        began=datetime.fromisoformat(began) if began else row.last_used,
        last_used=row.last_used,
        is_this=row.pk == here,
    )


def _first(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for sign, name in names if sign in text), "")
