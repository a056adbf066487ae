"""Statements that travel together: what they see of each other, and what is left after an error."""

from __future__ import annotations

import uuid
from uuid import UUID

import pytest
from django.db import Error, IntegrityError, connection, transaction

from gpugoblin_site.database.pipeline import parsed, uuid_of
from workunits.database import finish, query, row, rows, run, together

pytestmark = pytest.mark.django_db(transaction=True)
BEAT = "INSERT INTO workunits_heartbeat (name, beat) VALUES (%(name)s, now())"
BEATS = "SELECT name FROM workunits_heartbeat ORDER BY name"


def beats() -> list[str]:
    return [each.name for each in rows(BEATS)]


def test_each_sees_what_the_ones_before_it_did() -> None:
    with transaction.atomic():
        found = together([query(BEAT, {"name": "a"}), query(BEATS), query(BEAT, {"name": "b"})])
        assert [each.name for each in found[1]] == ["a"]
        assert [len(each) for each in found] == [0, 1, 0]
    assert beats() == ["a", "b"]


def test_after_an_error_nothing_follows_and_nothing_stays() -> None:
    twice = [query(BEAT, {"name": "a"}), query(BEAT, {"name": "a"}), query(BEAT, {"name": "b"})]
    with pytest.raises(IntegrityError), transaction.atomic():
        together(twice)
    assert beats() == []
    with pytest.raises(IntegrityError), transaction.atomic():
        finish(twice)
    assert beats() == []


def test_the_last_statements_end_the_transaction() -> None:
    with transaction.atomic():
        run(BEAT, {"name": "a"})
        finish([query(BEAT, {"name": "b"})])
        assert not connection.connection.info.transaction_status
    assert beats() == ["a", "b"]


def test_inside_of_another_transaction_nothing_ends() -> None:
    with transaction.atomic():
        with transaction.atomic():
            finish([query(BEAT, {"name": "a"})])
        assert beats() == ["a"]
        transaction.set_rollback(True)
    assert beats() == []


def test_a_server_that_lost_its_statements_gets_them_again() -> None:
    assert beats() == []
    connection.connection.execute("DEALLOCATE ALL")
    with pytest.raises(Error):
        beats()
    assert beats() == []


def test_rows_and_numbers_of_rows() -> None:
    assert run(BEAT, {"name": "a\0b"}) == 1
    assert run("DELETE FROM workunits_heartbeat WHERE name = %(name)s", {"name": "ab"}) == 1
    found = row(
        "SELECT %(text)s::text AS text, %(number)s::bigint, %(yes)s::boolean AS yes,"
        " 7 %% 4 AS rest, NULL::text AS nothing",
        {"text": "ü'\"\\", "number": -(2**62), "yes": True},
    )
    assert found is not None
    assert (found.text, found[1], found.yes, found.rest, found.nothing) == (
        "ü'\"\\",
        -(2**62),
        True,
        3,
        None,
    )


def test_ids_come_back_as_ids() -> None:
    each = uuid.uuid4()
    found = row("SELECT %(id)s::uuid AS id", {"id": each})
    assert found is not None
    assert found.id == each
    assert isinstance(found.id, UUID)
    assert (hash(found.id), str(found.id), found.id.is_safe) == (
        hash(each),
        str(each),
        each.is_safe,
    )
    assert uuid_of(each.int) == each


def test_a_name_used_twice_is_one_parameter() -> None:
    assert parsed("%(a)s, %(b)s, %(a)s, 1 %% 2") == (b"$1, $2, $1, 1 % 2", ("a", "b"))
