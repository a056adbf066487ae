"""Folders of networks that are thrown away, also those of runs that were killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

SHARED_TEMPORARY = Path("/var/tmp")  # on disk, and reachable for the account of PostgreSQL
PREFIX = "gpugoblin-network-"
OWNER = "owner"


class TemporaryFolder:
    """A folder below /var/tmp that others may enter but not list; ours until we are gone."""

    def __init__(self, place: Path = SHARED_TEMPORARY) -> None:
        remove_abandoned(place)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        self.path.chmod(0o711)
        self._owner = os.open(self.path / OWNER, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._owner, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Delete it with all that is in it; harmless when done before."""
        if self._owner >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._owner)
            self._owner = -1


def remove_abandoned(place: Path) -> None:
    """Delete the folders whose owner was killed: the lock on their file `owner` is free."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            owner = os.open(folder / OWNER, os.O_WRONLY)
        except OSError:
            continue  # not ours, being made, or being removed
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(owner)
