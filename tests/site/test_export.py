"""The copy of one's data: whole, readable in one's language, and of nobody else."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from django.utils import timezone

from accounts.export import README, export
from accounts.holdings import HOLDINGS, NOT_EXPORTED
from accounts.models import Account
from accounts.pages.export import EXPORTS
from accounts.tests.browsing import fields
from tests.people import logged_in
from tests.site import sentinels
from tests.site.sentinels import ADDRESS, LEASE, MACHINE, NAME, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World()


def opened(account: Account) -> dict[str, str]:
    with export(account) as file, zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}


def test_every_table_about_people_is_exported_or_says_why_not() -> None:
    known = {holding.model for holding in HOLDINGS}
    assert not known & NOT_EXPORTED.keys()
    assert sentinels.tables_about_people() - known - NOT_EXPORTED.keys() == set()


def test_every_file_of_a_person_who_did_everything_holds_something(world: World) -> None:
    files = opened(world.account)
    # What only operators and reviewers leave behind, and work that is under way.
    empty = {
        "viewings.json",
        "work_in_hand.json",
        "switched_off.json",
        "switches.json",
        "switch_moves.json",
        "incidents.json",
        "administration.json",
    }
    for holding in HOLDINGS:
        content = files[holding.file]
        lines = list(csv.reader(io.StringIO(content))) if holding.is_large else None
        rows: list[Any] = lines[1:] if lines is not None else json.loads(content)
        assert bool(rows) is (holding.file not in empty), holding.file


def test_what_it_says(world: World) -> None:
    files = opened(world.account)
    assert json.loads(files["person.json"])[0]["name"] == NAME
    assert json.loads(files["machines.json"])[0]["label"] == MACHINE
    assert json.loads(files["requests.json"])[0]["purpose"].startswith("What Zebrina")
    assert str(LEASE) in files["credit.csv"]
    assert files["credit.csv"].splitlines()[0].startswith("id,lab_id,")
    for name in (holding.file for holding in HOLDINGS):
        assert name in files[README]
    assert "Tất cả những gì GPU Goblin lưu về bạn" in files[README]
    assert ADDRESS in files[README]


def test_other_people_are_not_named(world: World) -> None:
    files = opened(world.account)
    text = "\n".join(content for name, content in files.items() if name != "invitations.json")
    assert "reviewer@example.org" not in text
    assert "colleague@example.org" not in text
    messages = json.loads(files["messages.json"])
    assert [row["author_id"] for row in messages] == ["you", "somebody else"]


def test_nothing_in_it_opens_anything(world: World) -> None:
    text = "\n".join(opened(world.account).values())
    for word in ("secret_hash", "code_hash", "token_hash", "session_data", "session_epoch"):
        assert word not in text, word


def test_by_the_page(world: World) -> None:
    page = world.browser.get("/account/export/").content.decode()
    assert "machines.json" in page
    answer = world.browser.post("/account/export/", fields(page))
    assert answer["Content-Type"] == "application/zip"
    assert f"gpugoblin-{timezone.now():%Y}" in answer["Content-Disposition"]
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    answer.close()
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None


def test_not_too_often(world: World) -> None:
    browser = logged_in(world.colleague)
    for _ in range(EXPORTS.most):
        EXPORTS.count(world.colleague.key.hex)
    answer = browser.post("/account/export/")
    assert answer.status_code == 429
    assert b"Too many attempts" in answer.content


def test_names_of_columns_that_are_hidden_exist() -> None:
    for holding in HOLDINGS:
        names = {field.attname for field in holding.table._meta.concrete_fields}
        assert holding.hidden <= names, holding.file
