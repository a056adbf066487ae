"""A copy of all that the site holds about a person, as a zip file."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Field
from django.template.loader import render_to_string
from django.utils import timezone, translation

from accounts.holdings import HOLDINGS, Holding
from accounts.models import Account

IN_MEMORY = 8 * 1024 * 1024
"""Bytes; what is larger goes to a temporary file."""
CHUNK = 2000
YOU, SOMEBODY = "you", "somebody else"
README = "README.txt"


def export(account: Account) -> IO[bytes]:
    """A zip file, opened at its beginning: a README in the person's language, and one file for
    each table. People other than the person appear as "somebody else"."""
    person = account.person
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller closes it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with translation.override(person.language):
            archive.writestr(README, _readme(account))
        for holding in HOLDINGS:
            with archive.open(holding.file, "w") as member:
                _write(member, holding, _rows(holding, account, person.email))
    file.seek(0)
    return file


def _readme(account: Account) -> str:
    facts = {
        "site": settings.GOBLIN_SITE_URL,
        "when": timezone.now(),
        "email": account.person.email,
        "holdings": HOLDINGS,
    }
    # For programs on every system, some of which take a file without a mark for another encoding.
    return "\ufeff" + render_to_string("accounts/export_readme.txt", facts).strip() + "\n"


def _rows(holding: Holding, account: Account, address: str) -> Iterator[dict[str, Any]]:
    columns = holding.columns()
    people = {field.attname for field in holding.table._meta.concrete_fields if _is_person(field)}
    found = holding.table._default_manager.filter(holding.find(account, address)).distinct()
    for row in found.order_by("pk").values(*columns).iterator(chunk_size=CHUNK):
        for name in people & row.keys():
            row[name] = row[name] and (YOU if row[name] == account.pk else SOMEBODY)
        yield row


def _is_person(field: Field[Any, Any]) -> bool:
    return field.is_relation and field.related_model is Account


def _write(member: IO[bytes], holding: Holding, rows: Iterable[dict[str, Any]]) -> None:
    if holding.is_large:
        _write_csv(member, holding.columns(), rows)
    else:
        _write_json(member, rows)


def _write_json(member: IO[bytes], rows: Iterable[dict[str, Any]]) -> None:
    between = b"["
    for row in rows:
        text = json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
        member.write(between + text.encode())
        between = b",\n"
    member.write(b"[]\n" if between == b"[" else b"]\n")


def _write_csv(member: IO[bytes], columns: list[str], rows: Iterable[dict[str, Any]]) -> None:
    text = io.TextIOWrapper(member, encoding="utf-8-sig", newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    text.flush()
    text.detach()


def _cell(value: Any) -> Any:
    return " ".join(str(part) for part in value) if isinstance(value, list) else value
