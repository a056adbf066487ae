"""`goblin-lab doctor`: everything that must hold for a lab node to work, one line each."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from goblin_labnode.config import Config, Folder
from goblin_labnode.keys import certificate_digest, load_secrets
from goblin_labnode.opening import formats
from goblin_labnode.ports import PortTaken, listen, owner
from goblin_labnode.serving import CONTROL_HOST, is_running
from goblin_labnode.site_client import SiteClient
from goblin_wire.problems import Problem
from goblin_wire.protocol import CLOCK_SLACK_S, MIB

_LITTLE_ROOM = 1024 * MIB


class Finding(Struct, kw_only=True):
    """`ok`: whether this is as it must be; `detail`: what was found and what to do."""

    check: str
    ok: bool
    detail: str


def examine(folder: Folder, config: Config) -> Iterator[Finding]:
    """Every check, in turn; none changes anything."""
    yield from _site(folder, config)
    for name, path in config.roots.items():
        yield _root(name, Path(path))
    yield Finding(check="formats", ok=True, detail=f"Arrays are opened from {formats()}.")
    yield _room(folder)
    yield _private(folder)
    running = is_running(folder)
    for name, host, port in (
        ("data", config.data_host, config.data_port),
        ("control", CONTROL_HOST, config.control_port),
    ):
        yield _port(name, host, port, running=running)


def _site(folder: Folder, config: Config) -> Iterator[Finding]:
    """Reached, token good, clocks near, endpoint reachable from there."""
    client = SiteClient(config.site, load_secrets(folder))
    try:
        digest = None if config.plain_http else certificate_digest(folder)
        welcome = client.hello(config.endpoint, digest)
        yield Finding(check="site", ok=True, detail=f"{config.site} answers and knows this lab.")
        yield _clock(welcome.site_seconds - time.time())
        yield _endpoint(config, client)
    except Problem as problem:
        yield Finding(check="site", ok=False, detail=f"{config.site}: {problem.detail}")
    finally:
        client.close()


def _clock(offset: float) -> Finding:
    ok = abs(offset) < CLOCK_SLACK_S
    advice = "" if ok else " Set this machine's clock; results may be refused."
    return Finding(check="clock", ok=ok, detail=f"{offset:+.1f} s against the site.{advice}")


def _endpoint(config: Config, client: SiteClient) -> Finding:
    try:
        found = client.probe()
    except Problem as problem:
        return Finding(check="endpoint", ok=False, detail=f"{config.endpoint}: {problem.detail}")
    detail = f"{config.endpoint} is reached by the site."
    if not found.reachable:
        detail = (
            f"{config.endpoint} is not reached by the site ({found.code}): {found.reason} Start"
            " `goblin-lab serve`, open the port in the firewall, forward it at the router."
        )
    return Finding(check="endpoint", ok=found.reachable, detail=detail)


def _root(name: str, path: Path) -> Finding:
    label = f"root {name}"
    if not path.is_dir():
        return Finding(check=label, ok=False, detail=f"{path} is not there.")
    if not os.access(path, os.R_OK | os.X_OK):
        return Finding(check=label, ok=False, detail=f"{path} cannot be read.")
    writable = os.access(path, os.W_OK)
    detail = f"{path} can be read{' and written' if writable else '; no output can go there'}."
    return Finding(check=label, ok=True, detail=detail)


def _room(folder: Folder) -> Finding:
    free = shutil.disk_usage(folder.path).free
    ok = free >= _LITTLE_ROOM
    return Finding(check="room", ok=ok, detail=f"{free // MIB} MiB are free at {folder.path}.")


def _private(folder: Folder) -> Finding:
    """Secrets are for their owner only, and the folder can be written."""
    files = (folder.path, folder.secrets, folder.control_key, folder.database)
    open_ones = [path for path in files if path.exists() and path.stat().st_mode & 0o077]
    if open_ones:
        names = ", ".join(str(path) for path in open_ones)
        return Finding(
            check="secrets",
            ok=False,
            detail=f"Others can read {names}; run chmod go= on it.",
        )
    try:
        with tempfile.TemporaryFile(dir=folder.staging):
            pass
    except OSError as error:
        return Finding(check="secrets", ok=False, detail=f"{folder.staging}: {error.strerror}")
    return Finding(check="secrets", ok=True, detail="Only this user can read them.")


def _port(name: str, host: str, port: int, *, running: bool) -> Finding:
    label = f"{name} port"
    try:
        listen(host, port).close()
    except PortTaken as taken:
        if running:
            pid = owner(port)
            shown = "" if pid is None else f", process {pid}"
            return Finding(check=label, ok=True, detail=f"{port}: the lab node runs{shown}.")
        return Finding(check=label, ok=False, detail=str(taken))
    if running:
        return Finding(check=label, ok=False, detail=f"{port}: the lab node does not listen.")
    return Finding(check=label, ok=True, detail=f"{port} is free; the lab node does not run.")
