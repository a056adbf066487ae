"""Time zones that people can choose."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

UTC = "UTC"
_NO_PLACES = ("Etc/", "SystemV/", "US/", "posix/", "right/")
_FORMER_NAMES = {"Asia/Saigon": "Asia/Ho_Chi_Minh", "Asia/Calcutta": "Asia/Kolkata"}
"""Browsers still tell these, and the names that their people look for are others."""


@lru_cache(maxsize=1)
def time_zones() -> list[str]:
    """The zones that are named by a place, and UTC."""
    places = {zone for zone in available_timezones() if _is_place(zone)}
    return [UTC, *sorted(places - set(_FORMER_NAMES))]


def known_zone(told: str) -> str:
    """The zone that a browser told, or UTC."""
    zone = _FORMER_NAMES.get(told, told)
    return zone if zone in time_zones() else UTC


def _is_place(zone: str) -> bool:
    return "/" in zone and not zone.startswith(_NO_PLACES)
