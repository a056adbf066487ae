"""The state directory: one host, everything that survives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import platformdirs

from goblin_client.errors import NotJoined, OtherRun
from goblin_client.files import private_folder, write_whole
from goblin_wire.fields import ShortText, Token, Url

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock
    fcntl = None  # type: ignore[assignment]


class Membership(msgspec.Struct, kw_only=True):
    """What `join` leaves behind."""

    site: Url
    token: Token
    label: ShortText = ""


def default_path() -> Path:
    return platformdirs.user_state_path("goblin-client", appauthor=False)


class StateDirectory:
    """Paths and the lock of one state directory; files in it are closed to other users."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.membership_file = self.path / "membership.json"
        self.database = self.path / "state.sqlite"
        self.results = self.path / "results"
        self.cache = self.path / "cache"
        self.socket = self.path / "control.sock"
        self._lock_file = self.path / "lock"

    def create(self) -> None:
        """Make the folders where they are missing."""
        for folder in (self.path, self.results, self.cache):
            private_folder(folder)

    def membership(self) -> Membership:
        """Who we are. Raises `NotJoined`."""
        try:
            return msgspec.json.decode(self.membership_file.read_bytes(), type=Membership)
        except FileNotFoundError:
            raise NotJoined(
                f"This machine has not joined a site (nothing is in {self.path}). Join one with:"
                " goblin-client join --site https://SITE"
            ) from None
        except msgspec.DecodeError:
            raise NotJoined(f"{self.membership_file} is damaged; join again.") from None

    def save(self, membership: Membership) -> None:
        self.create()
        write_whole(self.membership_file, msgspec.json.encode(membership))

    def lock(self) -> int:
        """Take the directory for this process until it ends. Raises `OtherRun`."""
        self.create()
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                raise OtherRun(f"Another goblin-client runs in {self.path}.") from None
        return descriptor

    def is_running(self) -> bool:
        """Whether a `run` holds the lock now."""
        if not self._lock_file.exists():
            return False
        try:
            os.close(self.lock())
        except OtherRun:
            return True
        return False

    def remove(self) -> None:
        """Delete what this program made in the directory, and the directory if that empties it."""
        for folder in (self.results, self.cache):
            shutil.rmtree(folder, ignore_errors=True)
        for suffix in ("", "-wal", "-shm"):
            self.database.with_name(self.database.name + suffix).unlink(missing_ok=True)
        for file in (self.membership_file, self.socket, self._lock_file):
            file.unlink(missing_ok=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()
