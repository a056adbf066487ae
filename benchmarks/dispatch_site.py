"""The site under load: a durable PostgreSQL, gunicorn with the real middleware, its people."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.network import Network


@dataclass
class Site:
    """A running site with a database server of its own. `postgres`, `gunicorn`: process ids."""

    url: str
    port: int
    database_url: str
    postgres: int
    gunicorn: int
    people: dict[str, Any]


@contextlib.contextmanager
def running_site(accounts: int) -> Iterator[Site]:
    """A site without its waiting process and scheduler, and so many seasoned accounts."""
    network = Network(volunteers=0, durable=True)
    network.site.environment["LOG_LEVEL"] = "WARNING"
    # The lab's connections are silent between two measurements.
    network.site.web.command = [*network.site.web.command, "--keep-alive", "30"]
    try:
        network.start_site(parts=("web",))
        yield _described(network, accounts)
    finally:
        network.stop()


def _described(network: Network, accounts: int) -> Site:
    site, people = network.site, network.known_people()
    seasoned = json.loads(site.manage("season_accounts", "--number", str(accounts)))
    lab = {"id": people.lab, "token": people.lab_token}
    pid_file = network.places.postgres / "cluster" / "postmaster.pid"
    return Site(
        network.places.site_url,
        network.places.ports.web,
        site.database_url,
        int(pid_file.read_text().split("\n", 1)[0]),
        site.web.pid,
        {"lab": lab, "volunteers": seasoned["volunteers"]},
    )


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
