"""Plain SQL on Django's connection: statements prepared once, several in one round trip, named
columns.

Lists travel as array literals made here: several times cheaper than the driver's way, and a batch
of 64 units is some forty arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections

from gpugoblin_site.database import prepared
from gpugoblin_site.database.pipeline import Query as Query

_PLAIN = re.compile(r"(?!.*\bnull\b)\w+(?:,\w+)*", re.ASCII | re.IGNORECASE)
"""Elements of an array literal that need no quotes; NULL would be read as none."""

Row = Any
Parameters = Mapping[str, Any]


def query(sql: str, parameters: Parameters | None = None) -> Query:
    """A statement with its values, to be sent by `together` or `finish`."""
    values = {} if parameters is None else parameters
    return Query(sql, {name: _value(value) for name, value in values.items()})


def together(queries: Sequence[Query]) -> list[list[Row]]:
    """The rows of each of the statements, which travel in one round trip.

    Each sees what the ones before it did and what others committed meanwhile, as if they had been
    sent one by one. Where one fails, the later ones are not executed.
    """
    return [found.rows for found in prepared.run(queries)]


def finish(queries: Sequence[Query]) -> None:
    """The last statements of a transaction, with its end: nothing may follow in its block."""
    prepared.run(queries, commit=_is_outermost())


def rows(sql: str, parameters: Parameters | None = None) -> list[Row]:
    """All rows of a query, columns by name."""
    return prepared.run([query(sql, parameters)])[0].rows


def row(sql: str, parameters: Parameters | None = None) -> Row | None:
    """The first row, if there is one."""
    found = rows(sql, parameters)
    return found[0] if found else None


def run(sql: str, parameters: Parameters | None = None) -> int:
    """Execute a statement; the number of rows that it touched."""
    return prepared.run([query(sql, parameters)])[0].touched


def _is_outermost() -> bool:
    """Whether the transaction is ours to end: inside of another one ours is only a savepoint."""
    connection = connections[DEFAULT_DB_ALIAS]
    return connection.in_atomic_block and not connection.savepoint_ids


def _value(value: Any) -> bytes | None:
    """The text form; the statement says, or its context tells, of what type it is."""
    if value is None:
        return None
    if type(value) is list:
        return literal(value).encode()
    if isinstance(value, UUID):
        return value.hex.encode()
    # PostgreSQL keeps no NUL characters; whoever sent one loses it.
    return (value.replace("\0", "") if isinstance(value, str) else str(value)).encode()


def literal(values: list[Any]) -> str:
    """A one-dimensional array in PostgreSQL's text form; the statement says of what type."""
    if not values:
        return "{}"
    first = values[0]
    if values.count(first) == len(values):
        return "{" + ",".join([_element(first)] * len(values)) + "}"
    kinds = set(map(type, values))
    if kinds == {UUID}:
        return "{" + ",".join(["%032x" % value.int for value in values]) + "}"  # noqa: UP031
    if kinds <= {int, float}:
        return "{" + ",".join(map(str, values)) + "}"
    if kinds == {str}:
        joined = ",".join(values)
        if joined.count(",") == len(values) - 1 and _PLAIN.fullmatch(joined):
            return "{" + joined + "}"
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if isinstance(value, str):
        plain = value.isalnum() and len(value) != len("NULL")
        return value if plain else _quoted(value)
    if isinstance(value, UUID):
        return value.hex
    return "NULL" if value is None else str(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\0", "").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
