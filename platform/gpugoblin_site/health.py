"""`/healthz` (the process lives), `/readyz` (it can do its work) and `/metrics`."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST

from gpugoblin_site import metrics

Facts = Callable[[], Any]
_facts: dict[str, Facts] = {}


def register_fact(name: str, read: Facts) -> None:
    """Show what `read()` returns under `name` in `/readyz`; it never makes the site unready."""
    _facts[name] = read


def healthz(_request: HttpRequest) -> HttpResponse:
    return _json({"status": "ok"}, 200)


def readyz(_request: HttpRequest) -> HttpResponse:
    """200, or 503 with a sentence where database or schema are not as this code needs them."""
    try:
        missing = missing_migrations()
    except DatabaseError:
        return _json({"status": "unavailable", "detail": "The database does not answer."}, 503)
    if missing:
        return _json({"status": "unavailable", "detail": _behind(missing), "missing": missing}, 503)
    return _json({"status": "ok", "facts": {name: _read(name) for name in sorted(_facts)}}, 200)


def missing_migrations() -> list[str]:
    """Migrations of this code that the database has not seen, as `app.name`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
        known = cursor.fetchone()
        applied: set[str] = set()
        if known and known[0]:
            cursor.execute("SELECT app || '.' || name FROM django_migrations")
            applied = {row[0] for row in cursor.fetchall()}
    return sorted(expected_migrations() - applied)


@lru_cache(maxsize=1)
def expected_migrations() -> frozenset[str]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return frozenset(f"{app}.{name}" for app, name in loader.disk_migrations)


def prometheus(request: HttpRequest) -> HttpResponse:
    """Measurements; for loopback without a proxy, or with the bearer token of the settings."""
    if not (_is_local(request) or _has_token(request)):
        raise Http404
    try:
        figures = metrics.figures()
    except DatabaseError:
        figures = b""  # what the workers measured is wanted most when the database is down
    return HttpResponse(metrics.exposition() + figures, content_type=CONTENT_TYPE_LATEST)


def _behind(missing: list[str]) -> str:
    return (
        f"The database is older than this code: {len(missing)} migrations are not applied."
        " Run `manage.py migrate`."
    )


def _read(name: str) -> Any:
    try:
        return _facts[name]()
    except DatabaseError:
        return "unknown"


def _is_local(request: HttpRequest) -> bool:
    if request.META.get("HTTP_X_FORWARDED_FOR") or request.META.get("HTTP_FORWARDED"):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _has_token(request: HttpRequest) -> bool:
    token = str(settings.GOBLIN_METRICS_TOKEN)
    sent = request.META.get("HTTP_AUTHORIZATION", "")
    return bool(token) and hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())


def _json(body: dict[str, Any], status: int) -> HttpResponse:
    response = HttpResponse(
        msgspec.json.encode(body), content_type="application/json", status=status
    )
    response["Cache-Control"] = "no-store"
    return response
