"""Statements that the server prepares once for each connection: parsing and planning a join costs
it more than running one that finds a single row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from gpugoblin_site.database import pipeline
from gpugoblin_site.database.pipeline import Query, Result


def fetch_one(sql: str, parameters: dict[str, str | int]) -> tuple[Any, ...] | None:
    """The first row of a constant query on Django's connection; errors are Django's."""
    values = {name: str(value).encode() for name, value in parameters.items()}
    rows = run([Query(sql, values)])[0].rows
    return rows[0] if rows else None


def run(queries: Sequence[Query], *, commit: bool = False) -> list[Result]:
    """Statements in one round trip on Django's connection; errors are Django's."""
    connection = connections[DEFAULT_DB_ALIAS]
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    # Django's errors (and thus its retries and problem pages) instead of psycopg's.
    with connection.wrap_database_errors:
        return pipeline.execute(connection.connection, queries, commit=commit)
