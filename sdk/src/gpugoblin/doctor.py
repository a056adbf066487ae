"""What `gpugoblin doctor` looks at, from near to far; each finding says what to do."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy

import gpugoblin
from goblin_wire.control import LabInfo
from goblin_wire.protocol import PROTOCOL
from gpugoblin import places, words
from gpugoblin.connection import Connection
from gpugoblin.errors import Problem


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    good: bool
    sentence: str


def examine(lab: str | None) -> list[Finding]:
    """Everything that can be found out; ends where nothing further can."""
    findings = [
        Finding(
            "this package",
            True,
            f"gpugoblin {gpugoblin.__version__}, protocol {PROTOCOL}, numpy {numpy.__version__},"
            f" Python {platform.python_version()}",
        )
    ]
    try:
        place = places.find(lab)
        found = places.address(place)
        findings.append(Finding("lab node", True, f"{place}, listening at {found.url}"))
        info = Connection(place).info(patience=0.0)
    except Problem as problem:
        return [*findings, Finding("lab node", False, problem.detail)]
    return [*findings, *_of_lab(info)]


def _of_lab(info: LabInfo) -> list[Finding]:
    return [
        Finding("its version", True, f"{info.version}, protocol {info.protocol}"),
        Finding("its site", info.online, _site(info)),
        Finding("its address", info.reachability.reachable, _address(info)),
        Finding("volunteers", info.network.devices > 0, _volunteers(info)),
        Finding("quota", info.flops_left_today > 0, _quota(info)),
        Finding("data", bool(info.roots), f"roots: {', '.join(info.roots) or 'none'}"),
    ]


def _site(info: LabInfo) -> str:
    return f"{info.site} answers" if info.online else f"{info.site}: {info.reason or 'no answer'}"


def _address(info: LabInfo) -> str:
    reached = "volunteers reach it"
    return info.reachability.reason or (
        reached if info.reachability.reachable else "not probed by the site yet"
    )


def _volunteers(info: LabInfo) -> str:
    network = info.network
    if network.devices:
        return f"{words.count(network.devices, 'machine')} online"
    if network.last_seen_s is None:
        return "none online, none was ever seen; jobs wait for the first"
    return f"none online, last seen {words.duration(network.last_seen_s)} ago; jobs wait"


def _quota(info: LabInfo) -> str:
    return f"{words.flops(info.flops_left_today)} left today"
