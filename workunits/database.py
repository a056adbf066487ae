"""Plain SQL on Django's connection: server-side binding, prepared statements, named columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, transaction
from psycopg.rows import namedtuple_row

PREPARE_AFTER = 2
"""A statement is prepared on the server once a connection has run it so often."""

Row = Any
Parameters = Mapping[str, Any]


def rows(sql: str, parameters: Parameters | None = None) -> list[Row]:
    """All rows of a query, columns by name."""
    with _cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def row(sql: str, parameters: Parameters | None = None) -> Row | None:
    """The first row, if there is one."""
    with _cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()


def run(sql: str, parameters: Parameters | None = None) -> int:
    """Execute a statement; the number of rows that it touched."""
    with _cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.rowcount


@contextmanager
def durable() -> Iterator[None]:
    """A transaction that is on disk once it is left."""
    with transaction.atomic():
        yield


@contextmanager
def _cursor() -> Iterator[psycopg.Cursor[Row]]:
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    if raw.prepare_threshold != PREPARE_AFTER:
        raw.prepare_threshold = PREPARE_AFTER
    # Django's errors (and thus its retries and problem pages) instead of psycopg's.
    with connection.wrap_database_errors, psycopg.Cursor(raw, row_factory=namedtuple_row) as cursor:
        yield cursor
