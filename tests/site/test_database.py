"""The connection's free health check, and what happens when the server has gone."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client

from gpugoblin_site.database.prepared import fetch_one

pytestmark = pytest.mark.django_db(transaction=True)


def terminate() -> None:
    """End the server's side of our connection, as a restart of the database does."""
    mine = fetch_one("SELECT pg_backend_pid()", {})
    assert mine is not None
    params = connection.get_connection_params()
    wanted = {k: params[k] for k in ("dbname", "host", "port", "user", "password") if k in params}
    with psycopg.connect(**wanted, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [mine[0]])
        while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [mine[0]]).fetchone():
            pass


def test_a_healthy_connection_costs_no_query(django_assert_num_queries: Any) -> None:
    connection.ensure_connection()
    with django_assert_num_queries(0):
        assert connection.is_usable()


def test_a_closed_connection_is_noticed() -> None:
    connection.ensure_connection()
    terminate()
    assert not connection.is_usable()
    connection.close()


def test_the_next_request_gets_a_new_connection(client: Client) -> None:
    assert client.get("/readyz").status_code == 200
    terminate()
    pooled: Any = connection
    pooled.health_check_enabled, pooled.health_check_done = True, False
    assert client.get("/readyz").status_code == 200


def test_errors_are_django_errors() -> None:
    connection.ensure_connection()
    terminate()
    with pytest.raises(OperationalError):
        fetch_one("SELECT 1", {})
    connection.close()
    assert fetch_one("SELECT %(n)s::int", {"n": 7}) == (7,)


def test_no_connection_at_all(monkeypatch: Any) -> None:
    connection.close()
    assert not connection.is_usable()
