"""`goblin-lab init`: keys, certificate, settings; the site is asked who this lab is."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import platformdirs

from goblin_labnode import __version__
from goblin_labnode.config import Config, ConfigError, Folder, write_private
from goblin_labnode.keys import (
    Secrets,
    certificate_digest,
    load_secrets,
    make_certificate,
    make_control_key,
    save_secrets,
)
from goblin_labnode.site_client import USER_AGENT, SiteClient
from goblin_wire.http import HttpClient
from goblin_wire.problems import SignInPending
from goblin_wire.protocol import PROTOCOL
from goblin_wire.signin import SignInCode, SignInPoll, SignInStart, SignInToken
from goblin_wire.site_address import check_site, is_loopback
from goblin_wire.tokens import Scope

_ROOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Wishes:
    """What `init` was asked for."""

    site: str
    roots: dict[str, str]
    endpoint: str | None
    data_host: str | None
    data_port: int
    control_port: int


def parse_roots(arguments: list[str]) -> dict[str, str]:
    """`NAME=PATH` each. Raises `ConfigError`."""
    roots: dict[str, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or not _ROOT_NAME.fullmatch(name):
            raise ConfigError(f"A root is given as NAME=PATH; {argument!r} is not.")
        folder = Path(path).expanduser().resolve()
        if not folder.is_dir():
            raise ConfigError(f"The root {name!r} is not a folder: {folder}")
        if name in roots:
            raise ConfigError(f"The root {name!r} is given twice.")
        roots[name] = str(folder)
    if not roots:
        raise ConfigError("Name at least one folder with data: --root NAME=PATH")
    return roots


def site_address(text: str) -> str:
    """The site's base URL. Raises `ConfigError`."""
    try:
        return check_site(text)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def initialise(folder: Folder, wishes: Wishes, token: str) -> Config:
    """Make, or change, a lab node's folder. Keys that are there stay.

    Raises `ConfigError`, or `Problem` where the site refuses or is out of reach.
    """
    endpoint = own_endpoint(wishes)
    folder.create()
    secrets = _secrets(folder, token)
    if not endpoint.startswith("http://") and not folder.certificate.exists():
        make_certificate(folder, endpoint)
    digest = None if endpoint.startswith("http://") else certificate_digest(folder)
    client = SiteClient(wishes.site, secrets)
    try:
        welcome = client.hello(endpoint, digest)
    finally:
        client.close()
    config = Config(
        site=wishes.site,
        lab=welcome.lab,
        roots=wishes.roots,
        endpoint=endpoint,
        data_host=wishes.data_host or _data_host(endpoint),
        data_port=wishes.data_port,
        control_port=wishes.control_port,
        site_keys=welcome.site_keys,
    )
    if not folder.control_key.exists():
        make_control_key(folder)
    folder.save(config)
    _write_control_info(folder, config)
    return config


def sign_in(site: str, show: Callable[[SignInCode], None]) -> str:
    """A token for a lab, confirmed by a person on the site's page. Raises `Problem`."""
    http = HttpClient(site, user_agent=USER_AGENT)
    start = SignInStart(
        protocol=PROTOCOL,
        scope=Scope.LAB,
        label=socket.gethostname()[:200],
        program=f"goblin-lab {__version__}",
    )
    code = http.call("POST", "/api/v1/sign-in", start, SignInCode)
    show(code)
    poll = SignInPoll(device_code=code.device_code)
    while True:
        time.sleep(max(1.0, code.interval_s))
        try:
            return http.call("POST", "/api/v1/sign-in/token", poll, SignInToken).token
        except SignInPending:
            continue


def remember_for_user(folder: Folder) -> Path | None:
    """Make this the lab that `gpugoblin.connect()` finds, unless another is named there."""
    path = platformdirs.user_config_path("gpugoblin") / "config.json"
    if path.exists():
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, msgspec.json.encode({"lab": str(folder.path)}))
    except OSError:
        return None
    return path


def own_endpoint(wishes: Wishes) -> str:
    """Where volunteers reach the data listener. Raises `ConfigError`."""
    if wishes.endpoint is None:
        if is_loopback(urlsplit(wishes.site).hostname or ""):
            return f"http://127.0.0.1:{wishes.data_port}"
        return f"https://{socket.getfqdn()}:{wishes.data_port}"
    endpoint = wishes.endpoint.rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path:
        raise ConfigError("The endpoint begins with https:// and names a host, no path.")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigError("Plain HTTP is for loopback only; the endpoint must begin with https://")
    return endpoint


def _data_host(endpoint: str) -> str:
    return "127.0.0.1" if endpoint.startswith("http://") else "0.0.0.0"  # noqa: S104


def _secrets(folder: Folder, token: str) -> Secrets:
    secrets = load_secrets(folder) if folder.secrets.exists() else Secrets.generate(token)
    secrets.token = token
    save_secrets(folder, secrets)
    return secrets


def _write_control_info(folder: Folder, config: Config) -> None:
    """What programs on this machine need to find the control listener."""
    info = {
        "url": f"http://127.0.0.1:{config.control_port}",
        "key_file": folder.control_key.name,
        "lab": config.lab,
    }
    write_private(folder.control_info, msgspec.json.encode(info) + b"\n")
