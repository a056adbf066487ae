"""The folder of a lab node: its settings, and where everything in it lies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from goblin_wire.fields import Id, ShortText, Size, Url
from goblin_wire.lab import SiteKey
from goblin_wire.protocol import MIB

DATA_PORT = 8471
CONTROL_PORT = 8472
Port = Annotated[int, Meta(ge=0, le=65535)]


class ConfigError(Exception):
    """The folder is not one that `goblin-lab init` made, or its settings are damaged."""


class Retention(Struct, kw_only=True, omit_defaults=True):
    """Days after which things are removed. Files that a researcher named are never removed."""

    results_days: float = 30.0
    """Results in places that the lab node chose, and the records of finished jobs."""
    arrays_days: float = 7.0
    """Uploaded arrays that no unfinished job uses, since their last use."""
    uploads_days: float = 1.0
    """Uploads of arrays that were begun and not finished."""


class Config(Struct, kw_only=True, omit_defaults=True):
    """`config.json`."""

    site: Url
    lab: Id
    name: ShortText = ""
    roots: dict[str, str]
    """Name -> absolute path of a folder whose files may be used."""
    endpoint: Url
    """Where volunteers reach the data listener."""
    data_host: str = "127.0.0.1"
    data_port: Port = DATA_PORT
    control_port: Port = CONTROL_PORT
    site_keys: list[SiteKey] = msgspec.field(default_factory=list)
    """The site's public keys, pinned at `init`."""
    retention: Retention = msgspec.field(default_factory=Retention)
    window_units: Annotated[int, Meta(ge=1)] = 4096
    window_bytes: Size = 64 * 1024 * MIB
    """The most that the site leases out of this lab at once."""

    @property
    def plain_http(self) -> bool:
        """Whether the data listener speaks plain HTTP: on loopback only."""
        return self.endpoint.startswith("http://")


@dataclass(frozen=True)
class Folder:
    """Where things lie in a lab node's folder."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def control_key(self) -> Path:
        return self.path / "control.key"

    @property
    def control_info(self) -> Path:
        return self.path / "control.json"

    @property
    def secrets(self) -> Path:
        return self.path / "secrets.json"

    @property
    def certificate(self) -> Path:
        return self.path / "certificate.pem"

    @property
    def certificate_key(self) -> Path:
        return self.path / "certificate.key"

    @property
    def database(self) -> Path:
        return self.path / "lab.sqlite3"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def proofs(self) -> Path:
        return self.path / "proofs"

    @property
    def staging(self) -> Path:
        return self.path / "staging"

    @property
    def arrays(self) -> Path:
        return self.path / "arrays"

    @property
    def uploads(self) -> Path:
        return self.path / "uploads"

    @property
    def results(self) -> Path:
        return self.path / "results"

    def create(self) -> None:
        """Make the folders, closed to others."""
        for folder in (self.path, self.staging, self.arrays, self.uploads, self.results):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # One that was there may be open to all users of this machine.
            folder.chmod(0o700)

    def load(self) -> Config:
        """The settings. Raises `ConfigError`."""
        try:
            return msgspec.json.decode(self.config.read_bytes(), type=Config)
        except FileNotFoundError:
            raise ConfigError(
                f"{self.path} is not a lab node's folder; make one with `goblin-lab init`."
            ) from None
        except (msgspec.DecodeError, OSError) as error:
            raise ConfigError(f"{self.config} cannot be read: {error}") from None

    def save(self, config: Config) -> None:
        pretty = msgspec.json.format(msgspec.json.encode(config), indent=2)
        write_private(self.config, pretty + b"\n")


def write_private(path: Path, content: bytes) -> None:
    """Replace a file at once by one that only its owner can read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
