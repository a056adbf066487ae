"""The state of a client: what cannot be read is told or given up, never a traceback."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from goblin_client.__main__ import main
from goblin_client.directory import Membership, StateDirectory
from goblin_client.errors import StateDamaged
from goblin_client.store import Store


@pytest.mark.parametrize("until", [None, 1.8e9, math.inf])
def test_a_pause_is_remembered(tmp_path: Path, until: float | None) -> None:
    with closing(Store(tmp_path / "state.sqlite")) as store:
        store.pause(until)
        assert store.paused_until() == until


@pytest.mark.parametrize("nonsense", ["", "soon", "nan"])
def test_a_fact_that_is_no_number_is_told(tmp_path: Path, nonsense: str) -> None:
    with closing(Store(tmp_path / "state.sqlite")) as store:
        store.new_host()
        store.set_facts(paused_until=nonsense, seq=nonsense or "x")
        with pytest.raises(StateDamaged, match="paused_until"):
            store.paused_until()
        with pytest.raises(StateDamaged, match="seq"):
            store.host()


def test_the_program_says_so_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = StateDirectory(tmp_path)
    state.save(Membership(site="http://127.0.0.1:9", token="gbv_" + "0" * 40))
    with closing(Store(state.database)) as store:
        store.set_facts(paused_until="soon")
    assert main(["status", "--state", str(tmp_path)]) == 1
    assert "goblin-client leave" in capsys.readouterr().err


def test_a_result_that_cannot_be_read_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with closing(Store(path)) as store, closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO result VALUES ('x', 1.0, x'c1', 0)")
        database.commit()
        assert store.results() == []
