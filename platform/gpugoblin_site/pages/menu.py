"""Which pages the menus name, in their order."""

from __future__ import annotations

from typing import NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Entry(NamedTuple):
    """A line of a menu; `current` is `page` on that very page, `true` below it, else empty."""

    url: str
    label: str | Promise
    current: str


MENUS: dict[str, list[tuple[str, str | Promise]]] = {
    "public": [
        ("how", _("How it works")),
        ("catalogue", _("Catalogue")),
        ("your-data", _("Your data")),
        ("lend", _("Lend a machine")),
        ("status", _("The network")),
        ("help", _("Help")),
    ],
    "own": [
        ("start", _("First steps")),
        ("machines", _("My machines")),
        ("contribution", _("My contribution")),
        ("access", _("My requests")),
        ("labs", _("My labs")),
        ("account", _("Account")),
    ],
    "footer": [
        ("cost", _("Cost and licence")),
        ("leaderboard", _("Leaderboard")),
        ("terms", _("Terms")),
        ("privacy", _("Privacy")),
        ("contact", _("Contact")),
    ],
}


def entries(menu: str, path: str) -> list[Entry]:
    """The lines of a menu as seen from the page at `path`."""
    found = ((reverse(name), label) for name, label in MENUS[menu])
    return [Entry(url, label, _current(url, path)) for url, label in found]


def _current(url: str, path: str) -> str:
    if url == path:
        return "page"
    return "true" if path.startswith(url) else ""
