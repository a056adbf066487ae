"""The state of a client as text."""

from __future__ import annotations

import time
from typing import Any

GIGA, GIB = 1e9, 2**30


def render(shown: dict[str, Any]) -> str:
    """A few lines for a person."""
    lines = [f"{shown['site']}: {_activity(shown)}"]
    lines += [f"  {_device(each)}" for each in shown.get("devices", [])]
    lines += [
        f"  unit {each['lease'][-8:]} on {each['device']}: {each['state']},"
        f" {100 * each['progress']:.0f} %"
        for each in shown.get("units", [])
    ]
    if shown.get("notice"):
        lines.append(f"The site says: {shown['notice']}")
    if shown.get("trouble"):
        lines.append(f"The site does not answer as it should: {shown['trouble']}")
    lines += _verdicts(shown)
    return "\n".join(lines)


def _activity(shown: dict[str, Any]) -> str:
    if shown.get("paused"):
        until = shown.get("paused_until")
        end = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(until)) if until else "you resume"
        return f"paused until {end}"
    return "running" if shown.get("running") else "not running"


def _device(device: dict[str, Any]) -> str:
    name = device["device"]
    if device["reason"]:
        return f"{name}: not used. {device['reason']}"
    if not device["ready"]:
        return f"{name}: starting"
    speed, memory = device["flops_per_s"] / GIGA, device["memory"] / GIB
    return f"{name}: {speed:.0f} Gflop/s, {memory:.1f} GiB for a unit ({device['device_class']})"


def _verdicts(shown: dict[str, Any]) -> list[str]:
    settled = shown.get("settled", {})
    lines = []
    if settled:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(settled.items()))
        lines.append(f"Results so far: {counts}.")
    lines += _refusals(shown.get("refusals", []))
    account = shown.get("account", {})
    if "error" in account:
        lines.append(f"The account could not be asked: {account['error']}")
    elif account:
        lines.append(
            f"Account: {account.get('accepted', 0)} accepted, {account.get('rejected', 0)}"
            f" rejected, {account.get('flops', 0) / GIGA:.1f} Gflop credited."
        )
    return lines


def _refusals(refusals: list[dict[str, Any]]) -> list[str]:
    """What was not used and why, newest first; the same reason once. A lease begins with a time."""
    leases: dict[str, list[str]] = {}
    for each in refusals:
        what = f"{each['verdict']} ({each['code']}): {each['reason']}"
        leases.setdefault(what, []).append(each["lease"][-8:])
    return [
        f"  {what} [{f'{len(found)} leases, last ' if len(found) > 1 else 'lease '}{found[0]}]"
        for what, found in leases.items()
    ]
