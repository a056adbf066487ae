"""Liveness, readiness and measurements."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from gpugoblin_site import health, metrics

pytestmark = pytest.mark.django_db


def test_alive_without_database(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert client.get("/healthz").json() == {"status": "ok"}


def test_ready(client: Client) -> None:
    health.register_fact("goblins", lambda: {"awake": 3})
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["facts"]["goblins"] == {"awake": 3}


def test_new_code_on_an_old_schema(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'research_access'")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "manage.py migrate" in response.json()["detail"]
    assert "research_access.0001_initial" in response.json()["missing"]


def test_no_migrations_at_all(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_migrations RENAME TO elsewhere")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert len(response.json()["missing"]) == len(health.expected_migrations())


def test_no_database(client: Client, monkeypatch: Any) -> None:
    def refuse() -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", refuse)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "10.0.0.1" not in response.content.decode()


def test_a_fact_that_fails_is_unknown(client: Client, monkeypatch: Any) -> None:
    def fail() -> None:
        raise OperationalError

    monkeypatch.setitem(health._facts, "scheduler", fail)
    assert client.get("/readyz").json()["facts"]["scheduler"] == "unknown"


def test_measurements_by_route(client: Client) -> None:
    client.post("/api/v1/sign-in", "{}", content_type="application/json")
    text = client.get("/metrics").content.decode()
    assert 'route="api/v1/sign-in",status="400"' in text
    client.get("/api/v1/secret-in-the-path")
    client.generic("BREW", "/healthz")
    text = client.get("/metrics").content.decode()
    assert "secret-in-the-path" not in text
    assert 'method="BREW"' not in text


def test_figures_of_the_database(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workunits_heartbeat VALUES ('scheduler', now() - interval '7 s')"
        )
    text = client.get("/metrics").content.decode()
    assert "goblin_devices_online 0.0" in text
    assert "goblin_scheduler_silence_seconds 7" in text
    assert client.get("/readyz").json()["facts"]["scheduler"]["silent_s"] >= 7


def test_measurements_without_a_database(client: Client, monkeypatch: Any) -> None:
    def refuse() -> None:
        raise OperationalError

    monkeypatch.setattr(metrics, "figures", refuse)
    assert b"goblin_request_seconds" in client.get("/metrics").content


@pytest.mark.parametrize(
    "meta",
    [
        {"REMOTE_ADDR": "203.0.113.5"},
        {"HTTP_X_FORWARDED_FOR": "203.0.113.5"},
        {"HTTP_FORWARDED": "for=203.0.113.5"},
        {"REMOTE_ADDR": ""},
    ],
)
def test_measurements_are_not_public(client: Client, settings: Any, meta: dict[str, str]) -> None:
    assert client.get("/metrics", **meta).status_code == 404  # type: ignore[arg-type]
    settings.GOBLIN_METRICS_TOKEN = "t0ken"
    wrong = client.get("/metrics", headers={"Authorization": "Bearer other"}, **meta)  # type: ignore[arg-type]
    assert wrong.status_code == 404
    right = client.get("/metrics", headers={"Authorization": "Bearer t0ken"}, **meta)  # type: ignore[arg-type]
    assert right.status_code == 200


def test_bodies_are_json(client: Client) -> None:
    for path in ("/healthz", "/readyz"):
        json.loads(client.get(path).content)
