"""What is kept, and what goes when; in process, without listeners or a site."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from labnode_rig import LAB, LabProcess, Volunteer, normal, product, save, wait_for

from goblin_labnode.config import Config, Folder, Retention
from goblin_labnode.housekeeping import Housekeeper
from goblin_labnode.jobs import Jobs
from goblin_labnode.keys import Secrets, load_secrets
from goblin_labnode.node import Node
from goblin_labnode.phases import Phase
from goblin_labnode.reports import open_result, report, result_info
from goblin_labnode.runs import Run
from goblin_labnode.states import job_info
from goblin_wire.blobs import array_digest
from goblin_wire.control import ArrayInfo, UploadStart
from goblin_wire.problems import ResultExpired
from goblin_wire.states import JobState

DAY = 86_400.0


class Bench:
    """A node whose runs are begun and go no further."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        config = Config(
            site="http://127.0.0.1:9",
            lab=LAB,
            roots={"data": str(self.data)},
            endpoint="http://127.0.0.1:9",
            retention=Retention(results_days=30, arrays_days=7, uploads_days=1),
        )
        self.node = Node(Folder(folder / "lab"), config, Secrets.generate("token"))
        self.begun: list[Run] = []
        self.jobs = Jobs(self.node, self.begun.append, lambda: None)
        self.housekeeper = Housekeeper(self.node, self.jobs)

    def array(self, name: str, rows: int, columns: int) -> ArrayInfo:
        save(self.data, name, normal(rows, columns))
        return self.node.arrays.open_file(name).info

    def upload(self, array: numpy.ndarray) -> ArrayInfo:
        uploads, raw = self.node.array_uploads, array.tobytes()
        digest = array_digest(array.dtype.name, array.shape, raw)
        state = uploads.start(
            UploadStart(digest=digest, dtype=array.dtype.name, shape=list(array.shape))
        )
        uploads.append(state.upload, 0, [raw])
        info = uploads.finish(state.upload).array
        assert info is not None
        return info

    def age(self, days: float) -> None:
        """Let time pass for everything that is stored."""
        seconds = days * DAY
        with self.node.database.transaction() as connection:
            connection.execute("UPDATE runs SET finished_at = finished_at - ?", (seconds,))
            connection.execute("UPDATE arrays SET used_at = used_at - ?", (seconds,))
            connection.execute("DELETE FROM outbox")
        then = time.time() - seconds
        for path in self.node.folder.uploads.iterdir():
            os.utime(path, (then, then))

    def remember_less(self, days: float) -> None:
        """Let time pass since results were removed."""
        self.node.database.execute(
            "UPDATE runs SET output = json_set(output, '$.removed_at',"
            " json_extract(output, '$.removed_at') - ?)",
            days * DAY,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    yield found
    found.node.close()


def test_results_go_after_their_time_unless_they_were_named(bench: Bench) -> None:
    empty, other = bench.array("a.npy", 0, 5), bench.array("b.npy", 5, 4)
    own = bench.jobs.submit(product(empty, other))
    named = bench.jobs.submit(product(empty, other, out="named.npy"))
    assert (own.phase, named.phase) == (Phase.DONE, Phase.DONE)
    result = bench.node.roots.full(own.output.place)
    bench.age(29)
    bench.housekeeper.sweep()
    assert result.exists()
    bench.age(2)
    bench.housekeeper.sweep()
    assert not result.exists()
    assert (bench.data / "named.npy").exists()
    assert [each.run for each in bench.jobs.list()] == [own.run]


def test_row_10_a_removed_result_says_when_and_by_which_rule(bench: Bench) -> None:
    empty, other = bench.array("a.npy", 0, 5), bench.array("b.npy", 5, 4)
    job = bench.jobs.submit(product(empty, other)).job
    bench.age(10)
    left = result_info(bench.node, bench.jobs.find(job)).expires_s
    assert left == pytest.approx(20 * DAY, abs=60)
    bench.age(21)
    bench.housekeeper.sweep()
    for ask in (result_info, report, open_result):
        with pytest.raises(ResultExpired) as caught:
            ask(bench.node, bench.jobs.find(job))
        assert caught.value.facts["when"] == time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        assert "30 days" in str(caught.value.facts["policy"])
    info = job_info(bench.node, bench.jobs.find(job))
    assert (info.state, info.progress.verified) == (JobState.DONE, info.progress.units)
    again = bench.node.arrays.open_file("a.npy").info, bench.node.arrays.open_file("b.npy").info
    assert bench.jobs.submit(product(*again)).attempt == 2
    bench.age(400)
    bench.housekeeper.sweep()
    bench.remember_less(400)
    bench.housekeeper.sweep()
    assert bench.jobs.list() == []


def test_what_an_unfinished_job_uses_is_never_removed(bench: Bench) -> None:
    left, right = bench.upload(normal(6, 5)), bench.upload(normal(5, 7, seed=1))
    unused = bench.upload(normal(3, 3, seed=2))
    record = bench.jobs.submit(product(left, right))
    bench.age(400)
    bench.housekeeper.sweep()
    kept = {path.stem for path in bench.node.folder.arrays.iterdir()}
    assert kept == {left.array, right.array}
    assert unused.array not in kept
    assert bench.jobs.find(record.job).phase is Phase.ACTIVE
    assert bench.node.roots.full(record.output.place).exists()


def test_uploads_that_were_given_up(bench: Bench) -> None:
    raw = normal(50, 50)
    digest = array_digest("float32", (50, 50), raw.tobytes())
    start = UploadStart(digest=digest, dtype="float32", shape=[50, 50])
    state = bench.node.array_uploads.start(start)
    bench.node.array_uploads.append(state.upload, 0, [raw.tobytes()[:100]])
    bench.housekeeper.sweep()
    assert list(bench.node.folder.uploads.iterdir())
    bench.age(2)
    bench.housekeeper.sweep()
    assert not list(bench.node.folder.uploads.iterdir())
    assert bench.upload(raw)


def test_staged_files_of_nobody(bench: Bench) -> None:
    stray = bench.node.folder.staging / f"{'0' * 32}-0"
    stray.write_bytes(b"x")
    bench.housekeeper.sweep()
    assert not stray.exists()


def test_a_paused_job_looks_again_only_when_the_file_is_another(bench: Bench) -> None:
    left, right = bench.array("a.npy", 6, 5), bench.array("b.npy", 5, 7)
    record = bench.jobs.submit(product(left, right))
    content = (bench.data / "a.npy").read_bytes()
    status = (bench.data / "a.npy").stat()
    (bench.data / "a.npy").write_bytes(content[:-1] + b"x")
    bench.housekeeper.turn()
    assert record.phase is Phase.PAUSED
    bench.housekeeper.turn()
    # Nothing was hashed before the change, so that the new content is as good as the old.
    assert record.phase is Phase.ACTIVE
    run = bench.begun[-1]
    assert not run.checks
    assert status.st_size == (bench.data / "a.npy").stat().st_size


def test_row_24_jobs_leave_disk_memory_and_descriptors_flat(own_lab: LabProcess) -> None:
    """Jobs with units, leases, uploads and checks; what is kept of them is removed by the rule."""
    lab = own_lab
    save(lab.data, "a.npy", normal(480, 100))
    save(lab.data, "b.npy", normal(100, 480, seed=1))
    volunteer = Volunteer(lab)

    def some(first: int, count: int) -> None:
        for number in range(first, first + count):
            job = lab.multiply("a.npy", "b.npy", memory=2**20 + number)
            assert job.progress.units == 4
            volunteer.work_all(job.job, job.progress.units)
            lab.wait_state(job.job, JobState.DONE)

    some(0, 20)
    disk = used_after_sweep(lab)
    lab.start()
    some(20, 4)
    before = resident(lab), descriptors(lab)
    some(24, 16)
    after = resident(lab), descriptors(lab)
    assert after[0] - before[0] < 6 << 20, "less than half of what the results of 16 jobs need"
    assert after[1] - before[1] <= 2
    assert used_after_sweep(lab) - disk < 256 << 10, "a third of one result"
    lab.start()


def used_after_sweep(lab: LabProcess) -> int:
    """Stop the lab node, end the time of its results: the bytes that its folder has then."""
    wait_for(lambda: not count_rows(lab, "outbox"), 10, lab.log)
    lab.stop()
    folder = Folder(lab.folder)
    config = folder.load()
    config.retention.results_days = 0.0
    node = Node(folder, config, load_secrets(folder))
    Housekeeper(node, Jobs(node, lambda _run: None, lambda: None)).sweep()
    node.close()
    for table in ("units", "leases", "panels"):
        assert not count_rows(lab, table)
    assert not [*folder.results.iterdir(), *folder.staging.iterdir()]
    files = [path for path in lab.folder.rglob("*") if path.is_file() and path.name != "log"]
    return sum(path.stat().st_size for path in files)


def count_rows(lab: LabProcess, table: str) -> int:
    with contextlib.closing(sqlite3.connect(lab.folder / "lab.sqlite3")) as database:
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


def resident(lab: LabProcess) -> int:
    assert lab.process is not None
    pages = int(Path(f"/proc/{lab.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors(lab: LabProcess) -> int:
    assert lab.process is not None
    return len(list(Path(f"/proc/{lab.process.pid}/fd").iterdir()))


def test_memory_is_bounded_by_the_panels_in_flight(lab: LabProcess, data: Path) -> None:
    """Inputs of 192 MiB: what is resident stays within the cache, a few panels, and 150 MiB."""
    rows = normal(64, 4096)
    save(data, "a.npy", numpy.tile(rows, (128, 1)))
    save(data, "b.npy", numpy.tile(rows, (64, 1)))
    before = resident(lab)
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    lab.wait_units(job.job, job.progress.units)
    cache = 128 << 20
    assert resident(lab) - before < cache + (150 << 20)
