"""The ways into the admin: each room names its own, and people see those that they may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse


@dataclass(frozen=True)
class Door:
    """An entry of the admin's bar and a box on its first page.

    `url` is a name to reverse, `permission` what is needed to pass. `facts` gives the sentence that
    the first page shows under the label, from the database as it is now.
    """

    url: str
    label: Any
    """A lazy translation."""
    permission: str
    facts: Callable[[HttpRequest], str]
    rank: int = 50
    """The lower, the further to the front."""


_doors: list[Door] = []


def add(door: Door) -> None:
    """Once for each address; doors of one rank keep the order in which they are added."""
    if all(known.url != door.url for known in _doors):
        _doors.append(door)


def open_to(request: HttpRequest) -> list[Door]:
    """The doors that this person may pass, in their order."""
    passable = [door for door in _doors if request.user.has_perm(door.permission)]
    return sorted(passable, key=lambda door: door.rank)


def bar(request: HttpRequest) -> list[dict[str, Any]]:
    """What the bar of every admin page shows; asks the database nothing of its own."""
    found = []
    for door in open_to(request):
        url = reverse(door.url)
        found.append({"url": url, "label": door.label, "current": request.path.startswith(url)})
    return found


def boxes(request: HttpRequest) -> list[dict[str, Any]]:
    """What the first page shows."""
    return [
        {"url": reverse(door.url), "label": door.label, "facts": door.facts(request)}
        for door in open_to(request)
    ]
