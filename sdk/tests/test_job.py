"""Jobs: durable handles, waits that end, errors with reasons."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

import gpugoblin
from goblin_wire import control
from goblin_wire.states import JobState
from gpugoblin import errors, job, waiting

from .fake_control import TILES, FakeLab, Handler

A = numpy.arange(48, dtype=numpy.float64).reshape(8, 6)
B = numpy.arange(18, dtype=numpy.float64).reshape(6, 3)


def submitted(lab: gpugoblin.Lab, name: str = "kernel") -> gpugoblin.Job:
    return (lab.array(A) @ lab.array(B)).submit(name, out="C.npy")


def soon(seconds: float, action: Callable[[], object]) -> None:
    threading.Timer(seconds, action).start()


def test_a_product_through_a_job(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    assert job.state == JobState.RUNNING
    assert (job.running(), job.done()) == (True, False)
    assert job.shape == (8, 3)
    soon(0.05, lambda: fake.verify(job.id, TILES))
    result = job.result(timeout=5)
    assert numpy.array_equal(result, A @ B)
    assert isinstance(result, numpy.memmap)
    assert not result.flags.writeable
    assert job.exception() is None
    assert job.done()


def test_submitting_twice_is_one_job(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    assert submitted(lab) == submitted(lab)
    assert len(fake.jobs) == 1
    assert hash(submitted(lab)) == hash(submitted(lab))


def test_row_01_a_cut_connection_does_not_end_the_wait(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    port = fake.port
    soon(0.1, fake.stop)
    soon(0.6, lambda: fake.start(port))
    soon(1.0, lambda: fake.verify(job.id, TILES))
    assert numpy.array_equal(job.result(timeout=15, show=False), A @ B)
    assert [request[:2] for request in fake.requests].count(("POST", "/v1/jobs")) == 1


def test_row_03_a_lab_that_comes_back_on_another_port_is_found(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab)
    soon(0.1, fake.stop)
    soon(0.5, fake.start)
    soon(1.0, lambda: fake.verify(job.id, TILES))
    assert numpy.array_equal(job.result(timeout=15, show=False), A @ B)


def test_row_02_a_killed_process_loses_nothing(fake: FakeLab) -> None:
    script = (
        "import sys, numpy, gpugoblin\n"
        f"lab = gpugoblin.connect({str(fake.folder)!r})\n"
        "A = lab.array(numpy.ones((8, 4))); job = (A @ numpy.ones(4)).submit('killed')\n"
        "print(job.id, flush=True); job.result(show=False)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = process.stdout.readline().strip()
    fake.verify(found, 2)
    process.kill()
    process.wait()
    process.stdout.close()
    again = gpugoblin.connect(fake.folder).job(found)
    assert again.progress().facts.verified == 2
    fake.verify(found, 2)
    assert numpy.array_equal(again.result(timeout=5, show=False), numpy.full(8, 4.0))


def test_row_04_every_end_has_reason_and_author(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    fake.move(job.id, JobState.FAILED, "A.npy was changed", code="file_changed")
    with pytest.raises(errors.JobFailed, match=r"A\.npy was changed.*by lab") as caught:
        job.result()
    assert caught.value.facts["reason_code"] == "file_changed"
    assert caught.value.facts["by"] == "lab"
    assert isinstance(job.exception(), errors.JobFailed)
    fresh = (lab.array(A) @ lab.array(B)).submit("second")
    assert fresh.cancel()
    with pytest.raises(errors.JobCancelled, match=r"asked for.*by researcher"):
        fresh.result()
    assert fresh.cancelled()


def test_row_05_no_call_exceeds_its_timeout_while_the_lab_restarts(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab)
    stopping = threading.Event()

    def restart() -> None:
        while not stopping.wait(0.05):
            fake.stop()
            fake.start()

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        for _ in range(20):
            start = time.monotonic()
            with pytest.raises((errors.NotReady, errors.Unreachable)):
                job.result(timeout=0.1, show=False)
            assert time.monotonic() - start < 3
    finally:
        stopping.set()
        thread.join()


def test_row_06_no_change_is_lost_or_doubled_over_many_drops(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab)
    drops = [number % 3 != 0 for number in range(40)]

    def drop(handler: Handler) -> bool:
        if "after=" in handler.path and drops and drops.pop():
            handler.close_connection = True
            return True
        return False

    fake.faults.append(drop)
    seen: list[int] = []
    slept: list[float] = []
    following = waiting.changes(lab.connection, job.id, sleep=slept.append)
    for info in following:
        seen.append(info.version)
        if info.progress.verified < TILES:
            fake.verify(job.id)
    assert seen == sorted(set(seen))
    assert len(seen) == TILES + 1
    assert slept


def test_a_reason_that_changes_without_an_event_is_told(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    found = submitted(lab)
    following = waiting.changes(lab.connection, found.id, deadline=time.monotonic() + 0.9)
    assert next(following).reason == ""
    fake.jobs[found.id].info.reason = "0 volunteers are online"
    assert next(following).reason == "0 volunteers are online"
    assert list(following) == []


def test_row_07_a_result_that_came_before_anybody_asked_is_there(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    found = submitted(lab).id
    fake.verify(found, TILES)
    assert numpy.array_equal(gpugoblin.connect(fake.folder).job(found).result(), A @ B)


def test_row_08_a_job_reopens_by_name_by_id_and_from_a_pickle(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab, "kernel / 2 ü")
    fake.verify(job.id, TILES)
    content = pickle.dumps(job)
    assert b"control-key" not in content
    for again in (lab.job("kernel / 2 ü"), lab.job(job.id), pickle.loads(content)):
        assert again == job
        assert numpy.array_equal(again.result(), A @ B)
    with pytest.raises(errors.UnknownJob):
        lab.job("nothing")
    with pytest.raises(errors.UnknownJob):
        lab.job("no/thing")


@pytest.mark.parametrize("name", [".", "..", "a/../b", "%2e%2e", "?x=1", "#", " "])
def test_a_job_of_any_name_is_found(lab: gpugoblin.Lab, name: str) -> None:
    assert lab.job(submitted(lab, name).id) == lab.job(name)


def test_row_10_not_ready_and_expired_are_two_things(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    with pytest.raises(errors.NotReady, match=r"not done after 0\.05 s.*running") as early:
        job.result(timeout=0.05)
    assert isinstance(early.value, TimeoutError)
    assert not isinstance(early.value, errors.ResultExpired)
    fake.verify(job.id, TILES)
    fake.jobs[job.id].expired = True
    with pytest.raises(errors.ResultExpired, match="30 days") as late:
        job.result()
    assert late.value.facts["when"] == "3 days ago"
    other = (lab.array(A) @ lab.array(B)).submit("x")
    with pytest.raises(errors.NotReady):
        other.exception(timeout=0)


def test_a_wait_of_no_length_is_refused(lab: gpugoblin.Lab) -> None:
    job = submitted(lab)
    with pytest.raises(ValueError, match="number of seconds"):
        job.result(timeout=float("nan"), show=False)


def test_row_13_a_job_without_volunteers_says_what_it_waits_for(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    fake.devices = 0
    job = submitted(lab)
    assert job.state == JobState.WAITING
    assert "0 volunteers are online, the last was seen 2 h ago" in job.why()
    assert "0 volunteers" in repr(job)


def test_row_14_why_never_falls_silent(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    fake.jobs[job.id].info.age_s = 600
    assert "0 of 4 units verified" in job.why()
    assert "10 min" in job.why()
    fake.stop()
    assert "does not answer" in job.why()
    assert "Last known: running" in job.why()
    assert "as last known" in repr(job)


def test_row_15_a_callback_may_ask_for_the_result(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    got: list[numpy.ndarray] = []
    called = threading.Event()

    def callback(finished: gpugoblin.Job) -> None:
        got.append(finished.result())
        called.set()

    job.add_done_callback(callback)
    fake.verify(job.id, TILES)
    assert called.wait(5)
    assert numpy.array_equal(got[0], A @ B)


def test_row_17_cancel_before_during_and_after(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.devices = 0
    waiting_job = submitted(lab)
    assert waiting_job.cancel()
    fake.devices = 2
    running = (lab.array(A) @ lab.array(B)).submit("running")
    fake.verify(running.id, 2)
    assert running.cancel()
    finished = (lab.array(A) @ lab.array(B)).submit("finished", out="D.npy")
    fake.verify(finished.id, TILES)
    assert not finished.cancel()
    assert finished.state == JobState.DONE


def test_row_18_an_interrupt_ends_the_wait_and_says_how_to_cancel(fake: FakeLab) -> None:
    script = (
        "import numpy, gpugoblin\n"
        f"lab = gpugoblin.connect({str(fake.folder)!r})\n"
        "job = (lab.array(numpy.ones((8, 4))) @ numpy.ones(4)).submit('mine')\n"
        "print(job.id, flush=True)\n"
        "try:\n    job.result()\nexcept KeyboardInterrupt:\n    print(job.state, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = process.stdout.readline().strip()
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert out == "running\n"
    last = err.strip().splitlines()[-1]
    assert last == (
        "The job goes on. lab.job('mine').cancel() stops it, .result() waits for it again."
    )
    assert fake.jobs[found].info.state == JobState.RUNNING


def test_row_19_all_jobs_are_listed_whoever_submitted_them(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    assert repr(lab.jobs()) == "No jobs yet."
    first = submitted(lab, "first")
    (lab.array(A) @ lab.array(B)).submit("second")
    jobs = gpugoblin.connect(fake.folder).jobs()
    assert [job.name for job in jobs] == ["first", "second"]
    assert "first " in repr(jobs)
    assert jobs[0] == first
    assert len(jobs[:1]) == 1
    assert jobs[1].cancel()
    assert jobs.to_list()[0]["name"] == "first"


def test_row_30_an_answer_that_is_no_message_is_one_typed_error(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab)
    page = b"<html>Internal Server Error</html>" + b"x" * 5000

    def html(handler: Handler) -> bool:
        handler.reply(500, page, "text/html")
        return True

    def truncated(handler: Handler) -> bool:
        handler.reply(200, b'{"job": "', "application/json")
        return True

    fake.faults.append(html)
    with pytest.raises(errors.LabError, match=r"500.*<html>Internal") as caught:
        job.info()
    assert len(caught.value.detail) < 260
    fake.faults[:] = [truncated]
    with pytest.raises(errors.LabError, match="not part of the protocol"):
        job.progress()


def test_parts_come_as_they_land(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    fake.verify(job.id)
    landed = []
    for part in job.parts():
        landed.append(part)
        if part.number < TILES:
            fake.verify(job.id)
    assert [part.number for part in landed] == [1, 2, 3, 4]
    assert [part.slice[0] for part in landed] == [slice(n, n + 2) for n in (0, 2, 4, 6)]
    assert landed[0].volunteer == "goblin-1"
    assert landed[0].checks == "check, 1 row computed again"
    assert "[0:2, 0:3]" in repr(landed[0])
    result = job.result()
    assert numpy.array_equal(result[landed[1].slice], (A @ B)[2:4])
    assert len(list(job.parts())) == TILES


def test_parts_of_a_job_that_fails_end_with_its_error(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    fake.verify(job.id, 3)
    fake.move(job.id, JobState.FAILED, "the disk is full")
    following = job.parts()
    assert [next(following).number for _ in range(3)] == [1, 2, 3]
    with pytest.raises(errors.JobFailed, match="disk is full"):
        next(following)


def test_futures_work_with_the_standard_library(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    first = submitted(lab)
    second = (lab.array(A) @ lab.array(B)).submit("second")
    futures = [first.future(), second.future()]
    assert futures[0] is first.future()
    assert futures[0].running()
    soon(0.05, lambda: fake.verify(first.id, TILES))
    soon(0.15, lambda: fake.verify(second.id, TILES))
    order = [found.result() for found in concurrent.futures.as_completed(futures, timeout=10)]
    assert all(numpy.array_equal(result, A @ B) for result in order)
    assert not concurrent.futures.wait(futures, timeout=1).not_done
    assert not futures[0].cancel()


def test_cancelling_a_future_cancels_the_job_with_a_reason(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    future = submitted(lab).future()
    assert future.cancel()
    assert isinstance(future.exception(timeout=5), errors.JobCancelled)
    assert future.cancelled()
    assert future in concurrent.futures.wait([future], timeout=5).done


def test_a_job_can_be_awaited_and_the_waiting_task_be_cancelled(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    job = submitted(lab)

    async def main() -> numpy.ndarray:
        task = asyncio.ensure_future(_awaited(job))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert job.state == JobState.RUNNING
        fake.verify(job.id, TILES)
        return await job

    assert numpy.array_equal(asyncio.run(main()), A @ B)


async def _awaited(job: gpugoblin.Job) -> numpy.ndarray:
    return await job


def test_row_24_many_jobs_leave_no_threads_and_no_sockets(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    def held() -> tuple[int, int]:
        return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))

    left, right = lab.array(A), lab.array(B)
    before: tuple[int, int] | None = None
    for number in range(60):
        job = (left @ right).submit(f"job {number}", out=f"{number}.npy")
        fake.verify(job.id, TILES)
        assert job.future().result(timeout=5).shape == (8, 3)
        if number == 20:
            before = held()
    assert before is not None
    time.sleep(0.1)
    threads, files = held()
    assert threads <= before[0] + 2
    # Each result that is still mapped holds no descriptor; sockets of ended threads are closed.
    assert files <= before[1] + 6


def test_watching_sees_each_change(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    seen = []
    for progress in job.watch():
        seen.append(progress.fraction)
        if progress.fraction < 1:
            fake.verify(job.id)
    assert seen == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_report_in_words_and_figures(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    job = submitted(lab)
    assert "told once" in str(job.report())
    fake.verify(job.id, TILES)
    report = job.report()
    assert report.to_dict()["verified"] == TILES
    text = str(report)
    assert "Report of kernel: done" in text
    assert "goblin-1: 1 unit, 5 flop; saw left 25 %, right 100 %" in text
    assert "goblin-9: All zeros." in text
    assert "<table" in report._repr_html_()
    assert all(len(line) < 80 for line in text.splitlines())


def test_a_job_in_one_line(lab: gpugoblin.Lab, fake: FakeLab, tmp_path: Path) -> None:
    found = repr(submitted(lab))
    assert "\n" not in found
    assert found.startswith("<gpugoblin.Job 'kernel' ")
    assert "0 % " in found or "0 %," in found
    unknown = job.reopen(str(tmp_path / "gone"), "f" * 32)
    assert "is not the folder of a lab node" in repr(unknown)


@pytest.mark.parametrize(
    ("start", "stop", "rank", "wanted"),
    [
        ([0, 2], [8, 4], 2, (slice(0, 8), slice(2, 4))),
        ([2, 0], [4, 1], 1, (slice(2, 4),)),
        ([0, 2], [1, 4], 1, (slice(2, 4),)),
        ([0, 0], [1, 1], 1, (slice(0, 1),)),
        ([0, 0], [1, 1], 0, ()),
    ],
)
def test_a_part_of_a_vector_is_told_as_one_of_a_matrix(
    start: list[int], stop: list[int], rank: int, wanted: tuple[slice, ...]
) -> None:
    facts = control.Part(number=1, unit="f" * 32, start=start, stop=stop, volunteer="v")
    assert gpugoblin.Part(facts, rank).slice == wanted
