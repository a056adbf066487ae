"""The site under load: a durable PostgreSQL, gunicorn with the real middleware, its people."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from gpugoblin_site.embedded_postgres import EmbeddedPostgres

ROOT = Path(__file__).resolve().parents[1]
WORKERS, THREADS = 2, 8
START_S = 60.0


@dataclass
class Site:
    """A running site on one database of the server."""

    url: str
    port: int
    gunicorn: subprocess.Popen[bytes]
    environment: dict[str, str]
    people: dict[str, Any]

    def stop(self) -> None:
        self.gunicorn.terminate()
        self.gunicorn.wait(30)


@contextlib.contextmanager
def database_server(folder: Path) -> Iterator[tuple[str, int]]:
    """A durable server; gives its address and the id of its first process."""
    server = EmbeddedPostgres(folder)
    url = server.start()
    try:
        pid = (server.cluster / "postmaster.pid").read_text().split("\n", 1)[0]
        yield url, int(pid)
    finally:
        server.stop()


def new_database(url: str, name: str) -> str:
    """Make another database on the server; its address."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.rsplit("/", 1)[0] + f"/{name}"


def start_site(url: str, state: Path, accounts: int) -> Site:
    """Migrate, make people and start gunicorn."""
    port = _free_port()
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "GOBLIN_STATE_DIR": str(state),
        "LOG_LEVEL": "WARNING",
        "GOBLIN_ALLOW_PRIVATE_ENDPOINTS": "1",
        "GOBLIN_SITE_URL": f"http://127.0.0.1:{port}",
    }
    _manage(environment, "migrate", "--verbosity", "0")
    people = json.loads(_manage(environment, "make_network_people", "--volunteers", "0", "--json"))
    seasoned = _manage(environment, "season_accounts", "--number", str(accounts))
    people["volunteers"] = json.loads(seasoned)["volunteers"]
    gunicorn = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gunicorn",
            "gpugoblin_site.wsgi",
            "--pythonpath",
            "platform",
            "--bind",
            f"127.0.0.1:{port}",
            "--worker-class",
            "gthread",
            "--workers",
            str(WORKERS),
            "--threads",
            str(THREADS),
            "--keep-alive",
            "30",
            "--log-level",
            "warning",
            "--no-control-socket",
        ],
        cwd=ROOT,
        env=environment,
        stdout=sys.stderr,
    )
    _wait_for(port, gunicorn)
    return Site(f"http://127.0.0.1:{port}", port, gunicorn, environment, people)


def _manage(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + START_S
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(f"gunicorn ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError("gunicorn does not answer")


# Finished units as the road leaves them, written at once: the same rows in the same tables.
_FILL = """
INSERT INTO workunits_unit (job_id, lab_id, uid, position, manifest, flops, memory, input_bytes,
       output_bytes, policy, catalogue, copies, state, wanted, issued, spared, code, chosen)
SELECT %(job)s, %(lab)s, gen_random_uuid(), n, repeat('ab', 32), 1000, 1000, 1000, 1000, 'check', 1,
       1, 'accepted', 0, 1, 0, 'ok', NULL
FROM generate_series(%(first)s::bigint, %(last)s::bigint) n;

INSERT INTO workunits_lease (id, unit_id, account_id, host_id, copy, role, device, device_class,
       state, counts, code, reason, outputs, seconds, created)
SELECT (lpad(to_hex(1700000000000 + u.position), 12, '0') || '7000' ||
        substr(u.uid::text, 20, 4) || substr(u.uid::text, 25, 12))::uuid,
       u.id, a.ids[1 + u.position %% cardinality(a.ids)], h.id, 0, 'compute', 'cpu', '', 'accepted',
       true, 'ok', '', ARRAY[repeat('cd', 32)], 60, now() - interval '1 day'
FROM workunits_unit u,
     (SELECT array_agg(account_id ORDER BY account_id) AS ids FROM workunits_host) a,
     LATERAL (SELECT id FROM workunits_host
              WHERE account_id = a.ids[1 + u.position %% cardinality(a.ids)] LIMIT 1) h
WHERE u.job_id = %(job)s AND u.position BETWEEN %(first)s AND %(last)s;

INSERT INTO workunits_verdict (lease_id, batch_id, kind, outputs, code, reason, policy,
       repaired_rows)
SELECT l.id, 1, 'accepted', l.outputs, 'ok', '', 'check', 0
FROM workunits_lease l JOIN workunits_unit u ON u.id = l.unit_id
WHERE u.job_id = %(job)s AND u.position BETWEEN %(first)s AND %(last)s;

INSERT INTO workunits_creditentry (account_id, lab_id, lease_id, kind, flops, created)
SELECT l.account_id, %(lab)s, l.id, 'verified', 1000, now()
FROM workunits_lease l JOIN workunits_unit u ON u.id = l.unit_id
WHERE u.job_id = %(job)s AND u.position BETWEEN %(first)s AND %(last)s;

INSERT INTO workunits_event (lab_id, job_id, unit_id, lease_id, kind, code, reason)
SELECT %(lab)s, %(job)s, l.unit_id, l.id, kind, 'ok', ''
FROM workunits_lease l JOIN workunits_unit u ON u.id = l.unit_id,
     unnest(ARRAY['leased', 'reported', 'accepted']) kind
WHERE u.job_id = %(job)s AND u.position BETWEEN %(first)s AND %(last)s;
"""
_SLICE = 100_000


def fill(url: str, units: int) -> None:
    """Put so many finished units of one finished job into the tables, with all that they leave."""
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        lab = _one(connection, "SELECT min(lab_id) FROM workunits_labnode")
        job = _one(
            connection,
            "INSERT INTO workunits_job (lab_id, uid, kind, units, registered, flops, grade, state,"
            " code, reason, swept, created) VALUES (%s, gen_random_uuid(), 'product', %s, %s, 1,"
            " 'standard', 'finished', 'ok', '', true, now()) RETURNING id",
            (lab, units, units),
        )
        for first in range(0, units, _SLICE):
            last = min(first + _SLICE, units) - 1
            connection.execute(_FILL, {"job": job, "lab": lab, "first": first, "last": last})
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def _one(connection: psycopg.Connection[Any], query: str, values: tuple[Any, ...] = ()) -> int:
    found = connection.execute(query, values).fetchone()
    if found is None:
        raise RuntimeError("the statement gave no row")
    return int(found[0])


def settle(url: str) -> None:
    """Leave nothing for a background process to do in the middle of a measurement."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
