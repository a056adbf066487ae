"""Kills, changed files, full disks, a silent site: the job says why and goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from labnode_rig import LabProcess, SiteDouble, Volunteer, normal, save, wait_for

from goblin_wire.data import UploadStatus
from goblin_wire.lab import LabEvent, NetworkSnapshot, Reachability
from goblin_wire.problems import DiskFull, Problem, QuotaExceeded, Unavailable
from goblin_wire.states import JobState


def inputs(data: Path, size: int = 640) -> numpy.ndarray:
    a = save(data, "a.npy", normal(size, 500))
    return a @ save(data, "b.npy", normal(500, size, seed=1))


def check(data: Path, want: numpy.ndarray) -> None:
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), want, rtol=1e-3, atol=1e-3)


def finish(lab: LabProcess, job: str, done: set[str]) -> None:
    units = lab.job(job).progress.units
    for unit in set(lab.wait_units(job, units)) - done:
        Volunteer(lab).work(unit)
    lab.wait_state(job, JobState.DONE)


class TestKill:
    def test_between_units(self, own_lab: LabProcess) -> None:
        """Nothing verified is computed twice; the output is right."""
        lab = own_lab
        want = inputs(lab.data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy", name="n").job
        done: set[str] = set()
        for unit in lab.wait_units(job, lab.job(job).progress.units):
            Volunteer(lab).work(unit)
            done.add(unit)
            wait_for(lambda: lab.job(job).progress.verified == len(done), 10, lab.log)
            if len(done) == 1:
                lab.kill()
                lab.start()
                assert lab.job("n").progress.verified == len(done)
        lab.wait_state(job, JobState.DONE)
        check(lab.data, want)
        wait_for(lambda: len(lab.site.judged(job)) >= len(done), 10, lab.log)

    def test_with_an_upload_half_done(self, own_lab: LabProcess) -> None:
        lab = own_lab
        want = inputs(lab.data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        unit = lab.wait_units(job, 1)[0]
        volunteer = Volunteer(lab)
        lease, token, content, digest = volunteer.compute(unit)
        volunteer.upload(lease, token, content[:70_000], digest)
        lab.kill()
        lab.start()
        path = f"/v1/leases/{lease}/outputs/0"
        status = lab.data_client(token).call("GET", path, None, UploadStatus)
        assert status.received == 70_000
        assert volunteer.upload(lease, token, content, digest, offset=70_000).complete
        finish(lab, job, {unit})
        check(lab.data, want)

    def test_right_after_an_upload(self, own_lab: LabProcess) -> None:
        """Whether it was judged before the kill or not: no volunteer is asked again."""
        lab = own_lab
        want = inputs(lab.data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        done = set()
        for unit in lab.wait_units(job, lab.job(job).progress.units)[:2]:
            Volunteer(lab).work(unit)
            done.add(unit)
            lab.kill()
            lab.start()
        wait_for(lambda: lab.job(job).progress.verified >= len(done), 10, lab.log)
        finish(lab, job, done)
        check(lab.data, want)

    def test_right_after_the_submission(self, own_lab: LabProcess) -> None:
        lab = own_lab
        want = inputs(lab.data)
        first = lab.multiply("a.npy", "b.npy", out="c.npy").job
        lab.kill()
        lab.start()
        job = lab.multiply("a.npy", "b.npy", out="c.npy")
        assert (job.job, job.attempt) == (first, 1)
        finish(lab, first, set())
        check(lab.data, want)

    @pytest.mark.parametrize("point", ["draft", "row"])
    def test_within_the_submission(self, own_lab: LabProcess, point: str) -> None:
        """A kill between making the output and naming it leaves nothing in the way."""
        lab = own_lab
        want = inputs(lab.data)
        lab.stop()
        hook = lab.folder.parent / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(
            "import os, sys\n"
            "def die(*_a, **_k): os.kill(os.getpid(), 9)\n"
            "if 'serve' in sys.orig_argv:\n"
            f"    import goblin_labnode.{'outputs' if point == 'draft' else 'node'} as m\n"
            + (
                "    real = m.create_draft\n    m.create_draft = lambda *a: (real(*a), die())\n"
                if point == "draft"
                else "    m.Node.add = die\n"
            )
        )
        lab.start(environment={"PYTHONPATH": str(hook)})
        with pytest.raises(Problem):
            lab.multiply("a.npy", "b.npy", out="c.npy")
        assert lab.process is not None
        lab.process.wait(10)
        lab.start()
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        finish(lab, job, set())
        check(lab.data, want)
        assert sorted(path.name for path in lab.data.iterdir()) == ["a.npy", "b.npy", "c.npy"]


class TestChangedFiles:
    def test_changed_and_put_back(self, lab: LabProcess, data: Path) -> None:
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        unit = lab.wait_units(job, lab.job(job).progress.units)[0]
        shutil.copy(data / "a.npy", data / "saved.npy")
        with (data / "a.npy").open("r+b") as file:
            file.seek(5000)
            file.write(b"changed!")
        info = lab.wait_state(job, JobState.PAUSED)
        assert info.code == "file_changed"
        assert "a.npy" in info.reason
        with pytest.raises(Unavailable):
            Volunteer(lab).work(unit)
        wait_for(lambda: (job, "pause") in actions(lab.site), 5, lab.log)
        reason = next(
            act.reason for run, act in lab.site.actions if (run, act.action) == (job, "pause")
        )
        assert "a.npy" not in reason
        shutil.copy(data / "saved.npy", data / "a.npy")
        lab.wait_state(job, JobState.RUNNING, JobState.WAITING)
        wait_for(lambda: (job, "resume") in actions(lab.site), 5, lab.log)
        finish(lab, job, set())
        check(data, want)

    def test_a_change_that_no_time_shows_convicts_nobody(self, own_lab: LabProcess) -> None:
        """As by a memory map whose pages were written before: the file's time stays."""
        own_lab.prefix, file = ".", own_lab.data / "a.npy"
        want = inputs(own_lab.data)
        job = own_lab.multiply("a.npy", "b.npy", out="c.npy").job
        unit = own_lab.wait_units(job, own_lab.job(job).progress.units)[0]
        honest = Volunteer(own_lab)
        lease, token, content, digest = honest.compute(unit)
        own_lab.kill()
        status, kept = file.stat(), file.read_bytes()
        numpy.lib.format.open_memmap(file, mode="r+")[:] *= 2
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        own_lab.start()  # what the checks need is read again
        assert honest.upload(lease, token, content, digest).complete
        info = own_lab.wait_state(job, JobState.PAUSED)
        assert info.code == "file_changed"
        assert own_lab.site.judged(job) == []
        file.write_bytes(kept)
        own_lab.wait_state(job, JobState.RUNNING, JobState.WAITING, JobState.VERIFYING)
        finish(own_lab, job, {unit})
        check(own_lab.data, want)
        assert {each.verdict for each in own_lab.site.judged(job)} == {"accepted"}

    def test_other_content_stays_refused(self, lab: LabProcess, data: Path) -> None:
        inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        lab.wait_units(job, lab.job(job).progress.units)
        save(data, "a.npy", normal(640, 500, seed=9))
        lab.wait_state(job, JobState.PAUSED)
        with pytest.raises(AssertionError):
            wait_for(lambda: lab.job(job).state is not JobState.PAUSED, 3)
        again = lab.multiply("a.npy", "b.npy", out="d.npy")
        assert again.job != job

    @pytest.mark.parametrize("how", ["removed", "truncated"])
    def test_removed_or_truncated(self, lab: LabProcess, data: Path, how: str) -> None:
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        lab.wait_units(job, lab.job(job).progress.units)
        shutil.copy(data / "b.npy", data / "saved.npy")
        if how == "removed":
            (data / "b.npy").unlink()
        else:
            os.truncate(data / "b.npy", 5000)
        info = lab.wait_state(job, JobState.PAUSED)
        assert info.code == {"removed": "file_missing", "truncated": "file_truncated"}[how]
        shutil.copy(data / "saved.npy", data / "b.npy")
        lab.wait_state(job, JobState.RUNNING, JobState.WAITING)
        finish(lab, job, set())
        check(data, want)

    def test_a_removed_output_ends_the_job(self, lab: LabProcess, data: Path) -> None:
        inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        (data / "c.npy").unlink()
        info = lab.wait_state(job, JobState.FAILED)
        assert "output" in info.reason
        again = lab.multiply("a.npy", "b.npy", out="c.npy")
        assert (again.job, again.attempt) == (job, 2)

    def test_an_output_that_went_while_the_lab_node_was_away_ends_the_job(
        self, own_lab: LabProcess
    ) -> None:
        inputs(own_lab.data)
        own_lab.prefix = "."
        job = own_lab.multiply("a.npy", "b.npy", out="c.npy").job
        own_lab.kill()
        (own_lab.data / "c.npy").unlink()
        own_lab.start()
        own_lab.wait_state(job, JobState.FAILED)
        assert own_lab.multiply("a.npy", "b.npy", out="c.npy").attempt == 2

    def test_a_lost_result_is_computed_again(self, lab: LabProcess, data: Path) -> None:
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        finish(lab, job, set())
        assert lab.multiply("a.npy", "b.npy", out="c.npy").attempt == 1
        (data / "c.npy").unlink()
        before = set(lab.site.jobs)
        again = lab.multiply("a.npy", "b.npy", out="c.npy")
        assert (again.job, again.attempt) == (job, 2)
        wait_for(lambda: list(lab.site.jobs)[-1] not in before, 10, lab.log)
        run = list(lab.site.jobs)[-1]
        for unit in lab.wait_units(run, again.progress.units):
            Volunteer(lab).work(unit)
        lab.wait_state(job, JobState.DONE)
        check(data, want)


def actions(site: SiteDouble) -> list[tuple[str, str]]:
    return [(run, action.action) for run, action in list(site.actions)]


class TestSite:
    def test_why_it_waits(self, lab: LabProcess, data: Path) -> None:
        site = lab.site
        inputs(data)
        site.network = NetworkSnapshot(devices=0, last_seen_s=600.0)
        site.news.set()
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        info = wait_code(lab, job, "no_volunteers")
        assert info.state is JobState.WAITING
        assert "0 volunteers" in info.reason
        assert "10 min" in info.reason
        site.reachability = Reachability(
            reachable=False, code="endpoint_unreachable", reason="refused"
        )
        site.news.set()
        assert "refused" in wait_code(lab, job, "endpoint_unreachable").reason
        site.refuse = Unavailable("The database is away.")
        site.news.set()
        info = wait_code(lab, job, "unavailable")
        assert "The database is away." in info.reason
        site.forget()
        wait_code(lab, job, "ok")

    def test_the_quota(self, lab: LabProcess, data: Path) -> None:
        want = inputs(data)
        lab.site.refuse_jobs = QuotaExceeded("Used up for today.", retry_after=0.3)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        assert "Used up for today." in wait_code(lab, job, "quota_exceeded").reason
        lab.site.refuse_jobs = None
        finish(lab, job, set())
        check(data, want)

    def test_a_site_that_is_away_while_the_job_runs(self, lab: LabProcess, data: Path) -> None:
        """Results are verified without the site; it is told later."""
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        units = lab.wait_units(job, lab.job(job).progress.units)
        lab.site.refuse = Unavailable()
        for unit in units:
            Volunteer(lab).work(unit)
        lab.wait_state(job, JobState.DONE)
        check(data, want)
        assert lab.site.judged(job) == []
        lab.site.refuse = None
        wait_for(lambda: len(lab.site.judged(job)) == len(units), 10, lab.log)
        wait_for(lambda: (job, "finish") in actions(lab.site), 10, lab.log)

    def test_a_site_that_forgot_is_told_again(self, lab: LabProcess, data: Path) -> None:
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        units = lab.wait_units(job, lab.job(job).progress.units)
        Volunteer(lab).work(units[0])
        wait_for(lambda: lab.site.judged(job), 10, lab.log)
        site = lab.site
        with site.lock:
            site.jobs.clear()
            site.verdicts.clear()
            kept = dict(site.units)
            for unit in units:
                del site.units[unit]
            site.reset = True
        site.news.set()
        wait_for(lambda: set(units) <= set(site.units), 10, lab.log)
        assert {unit: site.units[unit] for unit in units} == {unit: kept[unit] for unit in units}
        wait_for(lambda: len(site.judged(job)) == 1, 10, lab.log)
        finish(lab, job, {units[0]})
        check(data, want)

    def test_a_quarantined_unit_is_named(self, lab: LabProcess, data: Path) -> None:
        inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        units = lab.wait_units(job, lab.job(job).progress.units)
        for unit in units:
            lab.site.say(
                LabEvent(
                    kind="quarantined",
                    job=job,
                    unit=unit,
                    code="too_many_errors",
                    reason="Nobody could compute it.",
                )
            )
        assert "Nobody could compute it." in wait_code(lab, job, "quarantined").reason
        lab.site.say(LabEvent(kind="released", job=job, unit=units[0]))
        wait_code(lab, job, "ok")

    def test_a_switch_is_told_and_forgotten_when_it_is_lifted(
        self, lab: LabProcess, data: Path
    ) -> None:
        inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        lab.wait_units(job, lab.job(job).progress.units)
        lab.site.notice = "Stopped while the database is moved."
        told = wait_code(lab, job, "switched_off")
        assert told.reason.endswith("units: Stopped while the database is moved.")
        assert told.by == "site"
        lab.site.notice = ""
        wait_code(lab, job, "ok")

    def test_a_job_that_the_site_holds_back(self, lab: LabProcess, data: Path) -> None:
        inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        lab.wait_units(job, lab.job(job).progress.units)
        lab.site.say(
            LabEvent(
                kind="job_paused",
                job=job,
                code="cost_mismatch",
                reason="Two volunteers count other flops.",
            )
        )
        assert "Two volunteers" in wait_code(lab, job, "cost_mismatch").reason
        lab.site.say(LabEvent(kind="job_resumed", job=job))
        wait_code(lab, job, "ok")


def wait_code(lab: LabProcess, job: str, code: str):  # noqa: ANN201
    wait_for(lambda: lab.job(job).code == code, 10, lambda: f"{lab.job(job)} {lab.log()[-3000:]}")
    return lab.job(job)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)],
            check=False,
            capture_output=True,
        ).returncode
    ):
        pytest.skip("a small file system can't be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


class TestFullDisk:
    def test_at_submission(self, lab: LabProcess, data: Path, small_disk: Path) -> None:
        """The job is taken, says why it stands still, and goes on once there is room."""
        want = inputs(data, 1500)
        own = LabProcess(
            lab.folder.parent / "second", lab.site, lab.data, "--root", f"small={small_disk}"
        )
        own.prefix = lab.prefix
        own.start()
        job = own.submit(product_of(own, data, out="small/c.npy")).job
        info = own.wait_state(job, JobState.PAUSED)
        assert info.code == "disk_full"
        subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
        own.wait_state(job, JobState.WAITING, JobState.RUNNING, JobState.PLANNING)
        finish(own, job, set())
        check(small_disk, want)
        own.stop()

    def test_of_the_lab_node(self, tmp_path: Path, small_disk: Path) -> None:
        """Uploads are refused for now, the job pauses, nothing is lost."""
        data = tmp_path / "data"
        data.mkdir()
        site = SiteDouble()
        lab = LabProcess(small_disk / "lab", site, data)
        lab.start()
        want = inputs(data)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        units = lab.wait_units(job, lab.job(job).progress.units)
        volunteer = Volunteer(lab)
        lease, token, content, digest = volunteer.compute(units[0])
        filler = small_disk / "filler"
        fill(filler)
        with pytest.raises(DiskFull) as caught:
            volunteer.upload(lease, token, content, digest)
        assert caught.value.status == 507
        assert caught.value.retry_after
        assert lab.wait_state(job, JobState.PAUSED).code == "disk_full"
        filler.unlink()
        lab.wait_state(job, JobState.WAITING, JobState.RUNNING)
        assert volunteer.upload(lease, token, content, digest).complete
        finish(lab, job, {units[0]})
        check(data, want)
        lab.stop()
        site.close()


class TestFilesMayNotGrow:
    """A full disk for those who may not mount one: the kernel refuses what would be written."""

    SMALL = 6 << 20

    def test_at_submission(self, own_lab: LabProcess) -> None:
        """The job is taken, says why it stands still, and goes on once there is room."""
        lab = own_lab
        want = inputs(lab.data, 1500)
        limit_files(lab, self.SMALL)
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        assert lab.wait_state(job, JobState.PAUSED).code == "disk_full"
        limit_files(lab, resource.RLIM_INFINITY)
        lab.wait_state(job, JobState.WAITING, JobState.RUNNING, JobState.PLANNING)
        finish(lab, job, set())
        check(lab.data, want)

    def test_of_the_lab_node(self, own_lab: LabProcess) -> None:
        """An upload is refused for now, the job pauses, nothing is lost."""
        lab = own_lab
        a = save(lab.data, "a.npy", normal(2600, 100))
        want = a @ save(lab.data, "b.npy", normal(100, 2600, seed=1))
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        units = lab.wait_units(job, lab.job(job).progress.units)
        volunteer = Volunteer(lab)
        lease, token, content, digest = volunteer.compute(units[0])
        assert len(content) > self.SMALL
        limit_files(lab, self.SMALL)
        with pytest.raises(DiskFull) as caught:
            volunteer.upload(lease, token, content, digest)
        assert (caught.value.status, bool(caught.value.retry_after)) == (507, True)
        assert lab.wait_state(job, JobState.PAUSED).code == "disk_full"
        limit_files(lab, resource.RLIM_INFINITY)
        lab.wait_state(job, JobState.WAITING, JobState.RUNNING)
        assert volunteer.upload(lease, token, content, digest).complete
        finish(lab, job, {units[0]})
        check(lab.data, want)


def limit_files(lab: LabProcess, size: int) -> None:
    """The largest file that the running lab node may write, in bytes."""
    assert lab.process is not None
    _, hard = resource.prlimit(lab.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(lab.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def fill(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(descriptor, b"x" * 4096):
            pass
    os.close(descriptor)


def product_of(lab: LabProcess, data: Path, **options: str):  # noqa: ANN201
    from labnode_rig import product

    return product(lab.open("a.npy"), lab.open("b.npy"), **options)


def test_the_database_is_sound_after_kills(own_lab: LabProcess) -> None:
    lab = own_lab
    inputs(lab.data)
    lab.multiply("a.npy", "b.npy", out="c.npy")
    lab.kill()
    connection = sqlite3.connect(lab.folder / "lab.sqlite3")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    lab.start()
