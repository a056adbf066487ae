"""The account that PostgreSQL runs under: ours, or an unprivileged one when we are root."""

import ctypes
import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .errors import EmbeddedPostgresError

UNPRIVILEGED = ("nobody", "daemon")
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """Where `uid` is None the current account is used as it is."""

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def for_postgres(cls) -> "Account":
        """The current account; as root an existing unprivileged one, as PostgreSQL refuses root."""
        if os.geteuid() != 0:
            return cls()
        for name in UNPRIVILEGED:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return cls(entry.pw_uid, entry.pw_gid)
        raise EmbeddedPostgresError(
            "PostgreSQL cannot run as root and this machine has no account `nobody`. "
            "Run the site as another user or set DATABASE_URL."
        )

    def own(self, path: Path) -> None:
        """Give a file or folder to this account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def spawn(self, command: Sequence[str], output: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Start a command under this account; it gets SIGQUIT when the calling thread ends."""
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            preexec_fn=_die_with(os.getpid()),
        )

    def run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command under this account to its end, output captured."""
        return subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            env=_environment(),
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            preexec_fn=_die_with(os.getpid()),
            check=False,
        )

    def reaches(self, path: Path) -> bool:
        """Whether this account can enter a folder or run a program."""
        try:
            return self.run(["/usr/bin/test", "-x", str(path)]).returncode == 0
        except PermissionError:
            return False


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _die_with(parent: int) -> Callable[[], None]:
    # After setuid (which clears the request) and before exec: exactly where preexec_fn runs.
    def request() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return request
