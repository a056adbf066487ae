"""What the commands do. Each returns the exit code."""

from __future__ import annotations

import logging
import math
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import msgspec

from goblin_client import control, snapshot
from goblin_client.compute.limits import default_memory
from goblin_client.control import Command, NotRunning
from goblin_client.directory import Membership, StateDirectory, default_path
from goblin_client.errors import ClientError
from goblin_client.joining import check_token, sign_in
from goblin_client.showing import render
from goblin_client.site import Site, check_site
from goblin_client.store import Store
from goblin_client.supervisor import RunOptions, Supervisor
from goblin_wire.fields import sentence
from goblin_wire.problems import Problem
from goblin_wire.signin import SignInCode

LEAVE_S = 10.0
DEFAULT_CACHE = 10 * 1024**3
log = logging.getLogger("goblin_client")


def directory(arguments: Namespace) -> StateDirectory:
    return StateDirectory(Path(arguments.state) if arguments.state else default_path())


def join(arguments: Namespace) -> int:
    """Get or check a token and keep it."""
    state = directory(arguments)
    site, label = check_site(arguments.site), sentence(arguments.label, 200)
    if arguments.token:
        token = check_token(site, arguments.token)
    else:
        token = sign_in(site, label, _show_code)
    state.save(Membership(site=site, token=token, label=label))
    _say(f"Joined {site}. Start computing with: goblin-client run")
    return 0


def _show_code(code: SignInCode) -> None:
    minutes = max(1, round(code.expires_s / 60))
    _say(f"Open {code.url}\nand confirm the code {code.user_code} (valid for {minutes} minutes).")


def run(arguments: Namespace) -> int:
    """Compute until told to stop."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
    )
    state = directory(arguments)
    state.membership()
    state.lock()
    options = RunOptions(
        memory=arguments.memory or default_memory(),
        threads=arguments.threads,
        cache=arguments.cache if arguments.cache is not None else DEFAULT_CACHE,
        devices=tuple(dict.fromkeys(arguments.device or ["cpu"])),
        allow_private=arguments.allow_private,
    )
    return Supervisor(state, options).run()


def status(arguments: Namespace) -> int:
    """Show what the client does, what became of its results, and what the site says of it."""
    state = directory(arguments)
    membership = state.membership()
    shown = _local(state)
    shown |= {"site": membership.site, "label": membership.label, "state": str(state.path)}
    if not arguments.offline:
        shown["account"] = _account(membership)
    _say(msgspec.json.encode(shown).decode() if arguments.json else render(shown))
    return 0


def _local(state: StateDirectory) -> dict[str, Any]:
    try:
        return control.ask(state.socket, Command(name="status"))
    except NotRunning:
        store = Store(state.database)
        try:
            paused = store.paused_until()
            return {
                **snapshot.of_store(store),
                "running": False,
                "paused": paused is not None,
                "paused_until": None if paused == math.inf else paused,
            }
        finally:
            store.close()


def _account(membership: Membership) -> dict[str, Any]:
    site = Site(membership.site, membership.token, read_timeout=10.0)
    try:
        return dict(msgspec.to_builtins(site.status()))
    except Problem as problem:
        return {"error": problem.detail, "code": problem.code}
    finally:
        site.close()


def pause(arguments: Namespace) -> int:
    """Stop computing, for a while or until resumed; survives a restart."""
    until = None if arguments.duration is None else time.time() + arguments.duration
    _steer(directory(arguments), Command(name="pause", until=until))
    stamp = (
        "until you resume it"
        if until is None
        else time.strftime("until %Y-%m-%d %H:%M:%S", time.localtime(until))
    )
    _say(f"Paused {stamp}.")
    return 0


def resume(arguments: Namespace) -> int:
    """Go on computing."""
    _steer(directory(arguments), Command(name="resume"))
    _say("Resumed.")
    return 0


def _steer(state: StateDirectory, command: Command) -> None:
    state.membership()
    try:
        control.ask(state.socket, command)
    except NotRunning:
        store = Store(state.database)
        store.pause(None if command.name == "resume" else command.until or math.inf)
        store.close()


def leave(arguments: Namespace) -> int:
    """Hand everything back, give the token up, delete the state."""
    state = directory(arguments)
    membership = state.membership()
    if state.is_running():
        control.ask(state.socket, Command(name="leave"))
        _until_ended(state)
    _give_up(membership)
    state.remove()
    _say(f"Left {membership.site}; {state.path} was removed.")
    return 0


def _until_ended(state: StateDirectory) -> None:
    ends = time.monotonic() + LEAVE_S
    while state.is_running():
        if time.monotonic() > ends:
            raise ClientError("The running client does not stop; stop it, then leave again.")
        time.sleep(0.1)


def _give_up(membership: Membership) -> None:
    site = Site(membership.site, membership.token, read_timeout=10.0)
    try:
        site.sign_out()
    except Problem as problem:
        _say(f"The site was not told: {problem.detail} Revoke the token on the site.")
    finally:
        site.close()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
