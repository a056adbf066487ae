"""Statements on Django's connection, several in one round trip, each prepared once.

Most of what a short statement costs is not its execution but the way to it: two wake-ups of each
side, and the driver's own work. Here the statements of a group are sent together (libpq's pipeline
mode), each in a snapshot of its own as if they had been sent one by one, and the driver only reads
the rows. `BEGIN` travels with the first group of a transaction, `COMMIT` with its last.
"""

from __future__ import annotations

import itertools
import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple
from uuid import UUID, SafeUUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg import abc, errors, generators, pq
from psycopg.adapt import Buffer, Loader, Transformer
from psycopg.pq import ExecStatus, TransactionStatus

Parameters = Mapping[str, Any]
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")
_numbers = itertools.count()
_FORGET = (errors.InvalidSqlStatementName, errors.FeatureNotSupported)
"""The server lost a prepared statement, or its plan no longer fits the tables."""


class Query(NamedTuple):
    """A constant statement with `%(name)s` for what varies; values as the server's text form."""

    sql: str
    values: Mapping[str, bytes | None]


class Parsed(NamedTuple):
    text: bytes
    names: tuple[str, ...]


@dataclass(slots=True)
class Result:
    """The rows of one statement, columns by name, and how many rows it touched."""

    rows: list[Any]
    touched: int


@dataclass(slots=True)
class _Known:
    """What a connection has prepared: statement -> its name there."""

    reader: abc.Transformer
    names: dict[str, bytes] = field(default_factory=dict)


_known: WeakKeyDictionary[psycopg.Connection[Any], _Known] = WeakKeyDictionary()
_shapes: dict[str, Callable[[Sequence[Any]], Any]] = {}


class _IdLoader(Loader):
    """Ids a third as dear as by the constructor, which first finds out what it was given."""

    def load(self, data: Buffer) -> UUID:
        return uuid_of(int(bytes(data).replace(b"-", b""), 16))


def uuid_of(number: int) -> UUID:
    """The id with this value (128 bits, not looked at)."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


@cache
def parsed(sql: str) -> Parsed:
    """The statement with numbered parameters, and their names in that order."""
    names: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        name = found.group(1)
        return "%" if name is None else f"${names.setdefault(name, len(names) + 1)}"

    text = _PLACEHOLDER.sub(numbered, sql)
    return Parsed(text.encode(), tuple(names))


def execute(
    raw: psycopg.Connection[Any], queries: Sequence[Query], *, commit: bool = False
) -> list[Result]:
    """Send the statements together; what they gave, in their order.

    Where one fails the later ones are not executed, and psycopg's error is raised. `commit`: end
    the transaction with them.
    """
    if not queries and not commit:
        return []
    known = _known.get(raw)
    if known is None:
        raw.adapters.register_loader("uuid", _IdLoader)
        known = _known[raw] = _Known(Transformer.from_context(raw))
    try:
        with raw.lock:
            found = _sent(raw, known, queries, commit=commit)
    except _FORGET:
        known.names.clear()
        raise
    return _results(known, queries, found)


def _sent(
    raw: psycopg.Connection[Any], known: _Known, queries: Sequence[Query], *, commit: bool
) -> list[pq.abc.PGresult]:
    pgconn = raw.pgconn
    begin = not raw.autocommit and pgconn.transaction_status == TransactionStatus.IDLE
    if len(queries) == 1 and not begin and not commit and queries[0].sql in known.names:
        _send(pgconn, known.names[queries[0].sql], queries[0])
        return [_checked(raw, raw.wait(generators.execute(pgconn))[-1])]
    pgconn.enter_pipeline_mode()
    try:
        return _together(raw, known, queries, begin=begin, commit=commit)
    finally:
        if pgconn.status == pq.ConnStatus.OK:
            pgconn.exit_pipeline_mode()


def _together(
    raw: psycopg.Connection[Any],
    known: _Known,
    queries: Sequence[Query],
    *,
    begin: bool,
    commit: bool,
) -> list[pq.abc.PGresult]:
    pgconn = raw.pgconn
    kept: list[int] = []
    fresh: dict[int, tuple[str, bytes]] = {}
    sent = 0
    if begin:
        pgconn.send_query_params(b"BEGIN", None)
        sent += 1
    for query in queries:
        name = known.names.get(query.sql)
        if name is None:
            name = b"gugo_%d" % next(_numbers)
            pgconn.send_prepare(name, parsed(query.sql).text)
            fresh[sent] = (query.sql, name)
            sent += 1
        _send(pgconn, name, query)
        kept.append(sent)
        sent += 1
    if commit:
        pgconn.send_query_params(b"COMMIT", None)
        sent += 1
    pgconn.pipeline_sync()
    found = raw.wait(_fetched(pgconn, sent))
    for place, (sql, name) in fresh.items():
        if found[place].status == ExecStatus.COMMAND_OK:
            known.names[sql] = name
    for result in found:
        _checked(raw, result)
    return [found[place] for place in kept]


def _send(pgconn: pq.abc.PGconn, name: bytes, query: Query) -> None:
    values = query.values
    pgconn.send_query_prepared(name, [values[each] for each in parsed(query.sql).names])


def _fetched(pgconn: pq.abc.PGconn, sent: int) -> Any:
    """Flush what was sent and read one result for each, up to the end of the pipeline."""
    yield from generators.send(pgconn)
    found = []
    for _ in range(sent):
        found.append((yield from generators.fetch_many(pgconn))[-1])
    yield from generators.fetch_many(pgconn)
    return found


def _checked(raw: psycopg.Connection[Any], result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status == ExecStatus.FATAL_ERROR:
        raise errors.error_from_result(result, encoding=raw.info.encoding)
    return result


def _results(
    known: _Known,
    queries: Sequence[Query],
    found: Sequence[pq.abc.PGresult],
) -> list[Result]:
    results = []
    for query, result in zip(queries, found, strict=True):
        rows: list[Any] = []
        if result.nfields:
            known.reader.set_pgresult(result)
            rows = known.reader.load_rows(0, result.ntuples, _shape(query.sql, result))
        results.append(Result(rows, result.command_tuples or 0))
    known.reader.set_pgresult(None)
    return results


def _shape(sql: str, result: pq.abc.PGresult) -> Callable[[Sequence[Any]], Any]:
    """What makes a row of a statement: a named tuple."""
    shape = _shapes.get(sql)
    if shape is None:
        names = [_name(result.fname(place)) for place in range(result.nfields)]
        kind = namedtuple("Row", names, rename=True)  # type: ignore[misc]
        # As the class's own `_make`, without a look at the number of values.
        shape = _shapes[sql] = partial(tuple.__new__, kind)
    return shape


def _name(name: bytes | None) -> str:
    return "" if name is None else name.decode()
