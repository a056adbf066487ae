"""Results: mapped where they are shared, else downloaded from where it broke off."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import gpugoblin
from gpugoblin import errors

from .fake_control import TILES, FakeLab, Handler

A = numpy.random.default_rng(1).standard_normal((60, 50))
B = numpy.random.default_rng(2).standard_normal((50, 400))


@pytest.fixture
def job(lab: gpugoblin.Lab, fake: FakeLab) -> gpugoblin.Job:
    fake.shared = False
    job = (lab.array(A) @ lab.array(B)).submit("kernel")
    fake.verify(job.id, TILES)
    return job


def test_another_machine_downloads(job: gpugoblin.Job, capfd: pytest.CaptureFixture[str]) -> None:
    assert numpy.array_equal(job.result(), A @ B)
    assert "Downloading the result, 187.5 KiB." in capfd.readouterr().err


def test_a_result_into_a_file(job: gpugoblin.Job, tmp_path: Path) -> None:
    target = tmp_path / "C.npy"
    result = job.result(to=target)
    assert isinstance(result, numpy.memmap)
    assert numpy.array_equal(numpy.load(target), A @ B)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["C.npy"]
    with pytest.raises(errors.OutputExists):
        job.result(to=target)


def test_row_38_a_large_result_is_never_lost_and_says_how_to_fetch_it(
    job: gpugoblin.Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gpugoblin.result.IN_MEMORY_BYTES", 1000)
    with pytest.raises(errors.TooLarge, match=r"187\.5 KiB.*result\(to='C\.npy'\)"):
        job.result()
    assert numpy.array_equal(job.result(to=tmp_path / "C.npy"), A @ B)


def test_a_broken_download_goes_on_in_the_next_process(
    job: gpugoblin.Job, fake: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpugoblin.result.PIECE_BYTES", 50_000)
    target = tmp_path / "C.npy"
    served: list[str] = []

    def page(handler: Handler) -> bool:
        if not handler.path.endswith("/data"):
            return False
        served.append(handler.headers["Range"])
        if len(served) == 3:
            handler.reply(403, errors.NotAllowed("No more.").to_bytes(), "application/problem+json")
            return True
        return False

    fake.faults.append(page)
    with pytest.raises(errors.NotAllowed):
        job.result(to=target)
    assert (tmp_path / "C.npy.part").exists()
    assert not target.exists()
    again = gpugoblin.connect(fake.folder).job(job.id)
    assert numpy.array_equal(again.result(to=target), A @ B)
    assert served[3].startswith("bytes=100000-")
    assert not (tmp_path / "C.npy.part.at").exists()


def test_a_part_of_another_job_is_not_continued(job: gpugoblin.Job, tmp_path: Path) -> None:
    (tmp_path / "C.npy.part").write_bytes(b"x" * 1000)
    (tmp_path / "C.npy.part.at").write_text("f" * 32 + " 500")
    assert numpy.array_equal(job.result(to=tmp_path / "C.npy"), A @ B)


@pytest.mark.parametrize("cuts", [1, 3])
def test_a_download_survives_cut_connections(job: gpugoblin.Job, fake: FakeLab, cuts: int) -> None:
    content = (A @ B).tobytes()
    left = [True] * cuts

    def cut(handler: Handler) -> bool:
        if not handler.path.endswith("/data") or not left:
            return False
        left.pop()
        begin = int(handler.headers["Range"].removeprefix("bytes=").split("-")[0])
        handler.send_response(206)
        handler.send_header("Content-Length", str(len(content) - begin))
        handler.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        handler.wfile.write(content[begin : begin + 1000])
        handler.close_connection = True
        return True

    fake.faults.append(cut)
    assert numpy.array_equal(job.result(), A @ B)
    asked = [path for _, path, _ in fake.requests if path.endswith("/data")]
    assert len(asked) == cuts + 1


def test_no_room_shows_before_anything_is_fetched(
    job: gpugoblin.Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(errors.DiskFull, match=r"187\.5 KiB.*No space left"):
        job.result(to=tmp_path / "C.npy")
    assert not list(tmp_path.glob("C.npy*"))


def test_a_file_that_is_not_the_result_is_refused(job: gpugoblin.Job, fake: FakeLab) -> None:
    fake.shared = True
    numpy.save(fake.jobs[job.id].out, numpy.ones(3))
    with pytest.raises(errors.BadReply, match="another array"):
        job.result()
    fake.jobs[job.id].out.unlink()
    with pytest.raises(errors.BadReply, match="cannot be read"):
        job.result()


def test_empty_and_scalar_results(lab: gpugoblin.Lab, fake: FakeLab, tmp_path: Path) -> None:
    for shared in (True, False):
        fake.shared = shared
        empty = (lab.array(numpy.ones((0, 3))) @ numpy.ones((3, 2))).submit(f"empty{shared}")
        scalar = (lab.array(numpy.ones(3)) @ numpy.ones(3)).submit(f"scalar{shared}")
        for job in (empty, scalar):
            if not fake.jobs[job.id].parts:
                fake.verify(job.id, TILES)
        assert empty.result().shape == (0, 2)
        assert scalar.result().shape == ()
        assert scalar.result() == 3.0
        assert empty.result(to=tmp_path / f"{shared}.npy").shape == (0, 2)
