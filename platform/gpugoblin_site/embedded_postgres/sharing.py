"""One server per data folder for however many processes want it.

Every process that uses the server holds a shared lock on the file `users`. The supervisor, a
process of its own, tries for the exclusive lock: when it gets it nobody is left, and it stops. So
the server lives exactly as long as its users, however they end, and whichever came first.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from .errors import EmbeddedPostgresError
from .server import START_SECONDS, answers

_held: dict[Path, int] = {}


def default_data_dir() -> Path:
    """Where the data go if nobody says: below the home folder; as root, outside of it."""
    if os.geteuid() == 0:
        return Path("/var/lib/gpugoblin/postgres")
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gpugoblin" / "postgres"


def data_dir_of(state_dir: Path) -> Path:
    """The data folder that belongs to a state directory of the site.

    As root it lies elsewhere: the server runs under another account, which must not need to look
    into the state directory, where the keys are.
    """
    if os.geteuid() != 0:
        return state_dir / "postgres"
    mark = hashlib.sha256(os.fsencode(state_dir.absolute())).hexdigest()[:12]
    return default_data_dir().with_name(f"postgres-{mark}")


def database_url(state_dir: Path) -> str:
    """The address of the server that belongs to a state directory of the site; see below."""
    return ensure_database_url(data_dir_of(state_dir))


def ensure_database_url(data_dir: Path | str | None = None, *, durable: bool = True) -> str:
    """The address of a running server of `data_dir`, started if need be.

    It stays until this process, its forks and all others that called this are gone.
    Raises EmbeddedPostgresError with the reason when it does not come up.
    """
    folder = Path(data_dir or default_data_dir()).absolute()
    _register(folder)
    supervisor: int | None = None
    deadline = time.monotonic() + 2 * START_SECONDS
    while time.monotonic() < deadline:
        url = running_url(folder)
        if url is not None:
            return url
        if supervisor is None or _has_ended(supervisor):
            if supervisor is not None and _failure(folder):
                break
            supervisor = _start_supervisor(folder, durable)
        time.sleep(0.02)
    raise EmbeddedPostgresError(f"The embedded PostgreSQL did not start: {_failure(folder)}")


def running_url(folder: Path) -> str | None:
    """The address announced in `folder`, if a server answers there."""
    try:
        url = str(json.loads((folder / "server.json").read_text())["url"])
    except (OSError, ValueError, KeyError):
        return None
    return url if answers(url) else None


def wait_until_unused(folder: Path, *, pause: float = 0.25) -> int:
    """Return when no process is registered; the returned descriptor keeps new ones waiting."""
    users = _open_users(folder)
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return users
        time.sleep(pause)


def _register(folder: Path) -> None:
    if folder in _held:
        return
    if not folder.exists():
        folder.mkdir(mode=0o711, parents=True)
    users = _open_users(folder)
    fcntl.flock(users, fcntl.LOCK_SH)
    _held[folder] = users


def _open_users(folder: Path) -> int:
    # A bare descriptor: it is meant to stay open until the process ends, and forks share its lock.
    return os.open(folder / "users", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _start_supervisor(folder: Path, durable: bool) -> int:
    log = os.open(folder / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    arguments = [
        *(sys.executable, "-P", "-m", "gpugoblin_site.embedded_postgres"),
        *("--data", str(folder), "--while-used"),
        *(() if durable else ("--not-durable",)),
    ]
    sources = str(Path(__file__).resolve().parent.parent.parent)
    actions = [
        (os.POSIX_SPAWN_DUP2, nothing, 0),
        (os.POSIX_SPAWN_DUP2, log, 1),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    try:
        # A session of its own: Ctrl-C is for the users; the server goes when they have gone.
        return os.posix_spawn(
            sys.executable,
            arguments,
            os.environ | {"PYTHONPATH": sources, "TMPDIR": tempfile.gettempdir()},
            file_actions=actions,
            setsid=True,
        )
    finally:
        os.close(log)
        os.close(nothing)


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _failure(folder: Path) -> str:
    """What the supervisor said last, nothing if it only found another one at work."""
    with contextlib.suppress(OSError):
        said = (folder / "supervisor.log").read_text(errors="replace").strip()
        return "" if "DatabaseInUse" in said else said[-800:]
    return ""
