"""Statements are planned once for each connection, often while the tables are nearly empty: such a
plan must not walk over a whole table once it is full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from gpugoblin_site.database.pipeline import parsed
from workunits import changes, verdicts
from workunits.database import run
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db
HOT = {"workunits_unit", "workunits_lease", "workunits_pendinglease", "workunits_verdict"}
STATEMENTS = {
    "changes": changes._statement(tuple(changes._PARTS)),
    "uncount": changes._UNCOUNT,
    "residuals": verdicts._RESIDUALS,
}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_plan_for_small_tables_finds_rows_by_their_ids(name: str) -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(4)
    leases = volunteer.ask(2).leases
    volunteer.ask(1, done=[done(lease) for lease in leases])
    lab.judge(*map(verdict, leases))
    run(f"ANALYZE {', '.join(sorted(HOT))}")
    text = parsed(STATEMENTS[name]).text.decode()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {text}")
        (found,) = cursor.fetchone()
    (explained,) = found if isinstance(found, list) else json.loads(found)
    scans = [
        node
        for node in nodes(explained["Plan"])
        if node.get("Relation Name") in HOT and "Scan" in node["Node Type"]
    ]
    assert scans
    assert [node for node in scans if not ({"Index Cond", "Recheck Cond"} & node.keys())] == []
