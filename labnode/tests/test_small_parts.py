"""Versions of jobs, work by turns, the outbox."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from goblin_labnode.changes import Changes
from goblin_labnode.rota import Rota, Worker
from goblin_labnode.store import outbox
from goblin_labnode.store.database import Database
from goblin_wire.problems import StorageFailed


class TestChanges:
    def test_versions_grow_across_restarts(self) -> None:
        before = Changes()
        before.note("job")
        before.note("job")
        time.sleep(0.003)
        assert Changes().version("job") > before.version("job") - 2

    def test_waiting_ends_with_news(self) -> None:
        async def scene() -> float:
            changes = Changes()
            changes.attach(asyncio.get_running_loop())
            timer = threading.Timer(0.05, changes.note, ["job"])
            timer.start()
            began = time.monotonic()
            await changes.wait("job", changes.version("job"), 5)
            return time.monotonic() - began

        assert asyncio.run(scene()) < 2

    def test_waiting_ends_in_time_and_at_once_for_old_versions(self) -> None:
        async def scene() -> tuple[float, float]:
            changes = Changes()
            changes.attach(asyncio.get_running_loop())
            began = time.monotonic()
            await changes.wait("job", 0, 5)
            first = time.monotonic() - began
            await changes.wait("job", changes.version("job"), 0.05)
            return first, time.monotonic() - began

        first, whole = asyncio.run(scene())
        assert first < 1
        assert 0.04 < whole < 2


class TestRota:
    def test_turns_are_taken(self) -> None:
        order: list[str] = []
        done = threading.Event()

        def steps(name: str, count: int) -> Iterator[None]:
            for _ in range(count):
                order.append(name)
                yield
            if name == "long":
                done.set()

        rota = Rota("test", lambda *_: None)
        rota.add("long", steps("long", 5))
        rota.add("short", steps("short", 1))
        rota.start()
        assert done.wait(5)
        rota.stop()
        assert order.index("short") < 3

    def test_failures_are_told_and_others_go_on(self) -> None:
        failures: list[tuple[str, str]] = []
        done = threading.Event()

        def bad() -> Iterator[None]:
            yield
            raise StorageFailed("broken")

        def good() -> Iterator[None]:
            yield
            yield
            done.set()

        rota = Rota("test", lambda name, error: failures.append((name, str(error))))
        rota.add("bad", bad())
        rota.add("good", good())
        rota.start()
        assert done.wait(5)
        rota.stop()
        assert failures == [("bad", "broken")]

    def test_a_worker_survives_a_failure_and_wakes(self) -> None:
        turns = threading.Semaphore(0)

        def turn() -> float:
            turns.release()
            return 60.0

        worker = Worker("test", turn)
        worker.start()
        assert turns.acquire(timeout=5)
        worker.wake()
        assert turns.acquire(timeout=5)
        worker.stop()
        worker.join(5)
        assert not worker.is_alive()


class TestOutbox:
    def test_letters_come_in_order_and_in_batches(self, tmp_path: Path) -> None:
        database = Database(tmp_path / "x")
        with database.transaction() as connection:
            outbox.post(connection, "r", "job", "", {})
            for unit in ("u1", "u2"):
                outbox.post(connection, "r", "unit", unit, "")
            outbox.post(connection, "s", "unit", "u3", "")
            outbox.post(connection, "r", "verdict", "l1", {})
            outbox.post(connection, "r", "unit", "u4", "")
        seen = []
        while letters := outbox.next_letters(database, set(), 10):
            seen.append([letter.subject for letter in letters])
            with database.transaction() as connection:
                outbox.discard(connection, letters)
        assert seen == [[""], ["u1", "u2"], ["u3"], ["l1"], ["u4"]]

    def test_held_runs_wait(self, tmp_path: Path) -> None:
        database = Database(tmp_path / "x")
        with database.transaction() as connection:
            outbox.post(connection, "r", "job", "", {})
            outbox.post(connection, "s", "job", "", {})
        assert [each.run for each in outbox.next_letters(database, {"r"}, 10)] == ["s"]
        assert outbox.next_letters(database, {"r", "s"}, 10) == []

    def test_a_failed_transaction_leaves_nothing(self, tmp_path: Path) -> None:
        database = Database(tmp_path / "x")

        def fail() -> None:
            with database.transaction() as connection:
                outbox.post(connection, "r", "job", "", {})
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert outbox.next_letters(database, set(), 10) == []
