"""A copy of all that the site holds about a person, as a zip file."""

from __future__ import annotations

import codecs
import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import Field, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone, translation

from accounts.holdings import HOLDINGS, Holding
from accounts.models import Account

IN_MEMORY = 8 * 1024 * 1024
"""Bytes; what is larger goes to a temporary file."""
CHUNK = 2000
QUICK = 3
BUFFERED = 256 * 1024
YOU, SOMEBODY = "you", "somebody else"
README = "README.txt"


def export(account: Account) -> IO[bytes]:
    """A zip file, opened at its beginning: a README in the person's language, and one file for
    each table. People other than the person appear as "somebody else"."""
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        _fill(file, account)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _fill(file: IO[bytes], account: Account) -> None:
    person = account.person
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=QUICK) as archive:
        with translation.override(person.language):
            archive.writestr(README, _readme(account))
        for holding in HOLDINGS:
            with archive.open(holding.file, "w") as member:
                if holding.is_large:
                    _write_csv(member, _found(holding, account, person.email))
                else:
                    _write_json(member, _told(holding, account, person.email))


def _readme(account: Account) -> str:
    facts = {
        "site": settings.GOBLIN_SITE_URL,
        "when": timezone.now(),
        "email": account.person.email,
        "holdings": HOLDINGS,
    }
    # For programs on every system, some of which take a file without a mark for another encoding.
    return "\ufeff" + render_to_string("accounts/export_readme.txt", facts).strip() + "\n"


def _found(holding: Holding, account: Account, address: str) -> QuerySet[Any, dict[str, Any]]:
    rows = holding.table._default_manager.filter(holding.find(account, address))
    return rows.order_by("pk").values(*holding.columns())


def _told(holding: Holding, account: Account, address: str) -> Iterator[dict[str, Any]]:
    """Rows with the numbers of accounts as words."""
    people = {field.attname for field in holding.table._meta.concrete_fields if _is_person(field)}
    for row in _found(holding, account, address).iterator(chunk_size=CHUNK):
        for name in people & row.keys():
            row[name] = row[name] and (YOU if row[name] == account.pk else SOMEBODY)
        yield row


def _is_person(field: Field[Any, Any]) -> bool:
    return field.is_relation and field.related_model is Account


def _write_json(member: IO[bytes], rows: Iterable[dict[str, Any]]) -> None:
    between = b"["
    for row in rows:
        text = json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
        member.write(between + text.encode())
        between = b",\n"
    member.write(b"[]\n" if between == b"[" else b"]\n")


def _write_csv(member: IO[bytes], rows: QuerySet[Any, dict[str, Any]]) -> None:
    """As the database itself writes it: there may be millions of rows."""
    sql, parameters = rows.query.sql_with_params()
    # A row comes at a time, too little for the compressor.
    with (
        io.BufferedWriter(cast(io.RawIOBase, member), BUFFERED) as text,
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)", parameters) as copied,
    ):
        text.write(codecs.BOM_UTF8)
        for part in copied:
            text.write(part)
