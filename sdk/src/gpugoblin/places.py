"""Which lab node to talk to, and the key for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import keyring
import keyring.errors
import msgspec
import platformdirs
from msgspec import Meta, Struct

from goblin_wire.site_address import is_loopback
from gpugoblin.errors import EndpointRefused, TokenMissing, UnknownLab

LAB_VARIABLE = "GPUGOBLIN_LAB"
KEY_VARIABLE = "GPUGOBLIN_KEY"
SERVICE = "gpugoblin"
MAX_FILE = 64 * 1024


class ControlFile(Struct, kw_only=True):
    """`control.json` in the folder of a lab node."""

    url: Annotated[str, Meta(max_length=500)]
    key_file: str
    lab: str = ""


class UserConfig(Struct, kw_only=True):
    """`config.json` of this user, written by `goblin-lab init`: the folder or URL of the lab."""

    lab: str


class Address(NamedTuple):
    """Where the lab node listens now, and the key that it takes."""

    url: str
    key: str


def user_config() -> Path:
    """The file that names this user's lab node."""
    return platformdirs.user_config_path(SERVICE) / "config.json"


def find(lab: str | os.PathLike[str] | None) -> str:
    """The folder or URL to use: what was said, `GPUGOBLIN_LAB`, or the user's config.

    Raises `UnknownLab` where nothing is said anywhere.
    """
    said = os.fspath(lab) if lab is not None else os.environ.get(LAB_VARIABLE, "")
    if said:
        return said if _is_url(said) else str(Path(said).expanduser().absolute())
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_read(user_config()), type=UserConfig).lab
    raise UnknownLab(
        "Which lab? Say gpugoblin.connect('/folder/of/the/lab/node'), or set"
        f" {LAB_VARIABLE}. A new one is made by `goblin-lab init`; without any,"
        " gpugoblin.local computes in this process."
    )


def address(place: str, key: str | None = None) -> Address:
    """The URL and key of a lab node, read anew: after a restart it may listen elsewhere.

    Raises `UnknownLab`, `TokenMissing`, or `EndpointRefused` for plain HTTP to another machine.
    """
    if not _is_url(place):
        return _from_folder(Path(place), key)
    _check_url(place)
    found = key or os.environ.get(KEY_VARIABLE) or _kept_key(place)
    if not found:
        raise TokenMissing(
            f"A key is needed for {place}: gpugoblin.connect(url, key=...), or {KEY_VARIABLE}."
            " It stands in control.key in the lab node's folder."
        )
    return Address(place.rstrip("/"), found)


def remember(url: str, key: str) -> None:
    """Keep the key of a URL: in the system's keyring, or in a file of mode 0600."""
    try:
        keyring.set_password(SERVICE, url, key)
    except keyring.errors.KeyringError:
        _write_key(url, key)


def _from_folder(folder: Path, key: str | None) -> Address:
    try:
        control = msgspec.json.decode(_read(folder / "control.json"), type=ControlFile)
        found = key or _read(folder / control.key_file).decode("ascii").strip()
    except FileNotFoundError as error:
        raise UnknownLab(
            f"{folder} is not the folder of a lab node: there is no {error.filename}. It is made by"
            " `goblin-lab init` and `goblin-lab serve`."
        ) from None
    except PermissionError as error:
        raise UnknownLab(
            f"{error.filename} cannot be read: only the account that runs the lab node may."
        ) from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnknownLab(f"The lab node's files in {folder} are damaged: {error}.") from None
    _check_url(control.url)
    return Address(control.url.rstrip("/"), found)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return
    raise EndpointRefused(
        f"{url}: the key would travel in the clear. The control listener of a lab node is reached"
        " on its own machine, or through an SSH tunnel: ssh -L 8472:127.0.0.1:8472 MACHINE."
    )


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _kept_key(url: str) -> str | None:
    with contextlib.suppress(keyring.errors.KeyringError):
        found = keyring.get_password(SERVICE, url)
        if found:
            return found
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_read(_key_file()), type=dict[str, str]).get(url)
    return None


def _write_key(url: str, key: str) -> None:
    path = _key_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys: dict[str, str] = {}
    with contextlib.suppress(OSError, msgspec.DecodeError):
        keys = msgspec.json.decode(_read(path), type=dict[str, str])
    draft = path.with_name(f".keys.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode({**keys, url: key}))
    draft.replace(path)


def _key_file() -> Path:
    return user_config().with_name("keys.json")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE)
