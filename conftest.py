"""For every test of the repository: the site's settings for tests, and one database per run.

Nothing is started here: with no DATABASE_URL the first test that needs a database starts the
embedded PostgreSQL, which ends with the last process that uses it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

# Read before Django's settings are. As root the server runs as another user, who must reach it.
_shared = Path("/var/tmp" if os.name == "posix" else tempfile.gettempdir())  # noqa: S108
_state = Path(tempfile.mkdtemp(prefix="goblin-tests-"))

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpugoblin_site.settings")
os.environ.setdefault("GOBLIN_STATE_DIR", str(_state))
os.environ.setdefault("GOBLIN_DATABASE_DIR", str(_shared / f"goblin-tests-{os.geteuid()}"))
os.environ.setdefault("GOBLIN_DATABASE_DURABLE", "0")
os.environ.setdefault("LOG_LEVEL", "CRITICAL")


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Runs side by side must not meet in one database."""
    from django.db import connection

    _drop_leftovers()
    connection.settings_dict["TEST"]["NAME"] = f"test_{os.getpid()}"


def _drop_leftovers() -> None:
    """Databases of runs that were killed."""
    import psycopg
    from django.db import connection

    address = connection.get_connection_params() | {"dbname": "postgres"}
    known = {key: address[key] for key in ("dbname", "host", "port", "user", "password")}
    with psycopg.connect(**known, autocommit=True) as server:
        names = server.execute(r"SELECT datname FROM pg_database WHERE datname ~ '^test_[0-9]+$'")
        for (name,) in names.fetchall():
            if not Path(f"/proc/{name.removeprefix('test_')}").exists():
                server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def pytest_unconfigure() -> None:
    shutil.rmtree(_state, ignore_errors=True)
