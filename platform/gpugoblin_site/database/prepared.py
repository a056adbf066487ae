"""Statements that the server prepares once for each connection: parsing and planning a join costs
it more than running one that finds a single row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection


def fetch_one(sql: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    """The first row of a constant query on Django's connection; errors are Django's."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        # Constant by contract: what varies is in the parameters.
        cursor.execute(sql.encode(), parameters, prepare=True)
        return cursor.fetchone()
