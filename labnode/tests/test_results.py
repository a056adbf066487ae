"""What volunteers send: only right tiles reach the output, whatever else is tried."""

from __future__ import annotations

import contextlib
import http.client
import sqlite3
from pathlib import Path
from typing import Any

import numpy
import pytest
from labnode_rig import LabProcess, SiteDouble, Volunteer, normal, save, wait_for
from numpy.typing import NDArray

from goblin_wire.blobs import blob_id
from goblin_wire.control import JobInfo, Part, PartList, Report
from goblin_wire.data import UploadStatus
from goblin_wire.lab import LabEvent
from goblin_wire.problems import (
    BadMessage,
    DigestMismatch,
    LeaseEnded,
    LengthRequired,
    NotFound,
    OffsetMismatch,
    Problem,
    WrongLength,
    problem_from_response,
)
from goblin_wire.protocol import DIGEST_HEADER
from goblin_wire.states import JobState, VerdictKind


@pytest.fixture
def started(lab: LabProcess, data: Path) -> JobInfo:
    save(data, "a.npy", normal(640, 500))
    save(data, "b.npy", normal(500, 640, seed=1))
    return lab.multiply("a.npy", "b.npy", out="c.npy")


def finish(lab: LabProcess, job: JobInfo, data: Path, done: set[str]) -> None:
    volunteer = Volunteer(lab, "honest")
    for unit in set(lab.wait_units(job.job, job.progress.units)) - done:
        volunteer.work(unit)
    lab.wait_state(job.job, JobState.DONE)
    want = numpy.load(data / "a.npy") @ numpy.load(data / "b.npy")
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), want, rtol=1e-3, atol=1e-3)


def zeros(tile: NDArray[Any]) -> None:
    tile[...] = 0


def one_column(tile: NDArray[Any]) -> None:
    tile[:, 3] += 1


def lower_precision(tile: NDArray[Any]) -> None:
    tile[...] = tile.astype(numpy.float16)


def stale(tile: NDArray[Any]) -> None:
    tile[...] = tile[::-1].copy()


@pytest.mark.parametrize("spoil", [zeros, one_column, lower_precision, stale])
def test_a_wrong_tile_never_reaches_the_output(
    lab: LabProcess, site: SiteDouble, data: Path, started: JobInfo, spoil: Any
) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    lease = Volunteer(lab, "cheat").work(unit, spoil)
    wait_for(lambda: site.judged(started.job), 10, lab.log)
    (verdict,) = site.judged(started.job)
    assert verdict.lease == lease
    assert verdict.verdict in (VerdictKind.REJECTED, VerdictKind.REISSUED)
    assert verdict.reason
    assert verdict.code not in ("ok", "accepted")
    assert not numpy.load(data / "c.npy").any()
    finish(lab, started, data, set())
    report = lab.control().call("GET", f"/v1/jobs/{started.job}/report", None, Report)
    assert [each.volunteer for each in report.refusals] == ["cheat"]


def test_one_wrong_row_is_repaired_and_nobody_is_told(
    lab: LabProcess, site: SiteDouble, data: Path, started: JobInfo
) -> None:
    def spoil(tile: NDArray[Any]) -> None:
        tile[5] += tile[5] * numpy.float32(3e-5)

    unit = lab.wait_units(started.job, 1)[0]
    Volunteer(lab).work(unit, spoil)
    wait_for(lambda: site.judged(started.job), 10, lab.log)
    (verdict,) = site.judged(started.job)
    assert verdict.verdict is VerdictKind.ACCEPTED
    assert (verdict.code, verdict.reason, verdict.residual) == ("ok", "", None)
    assert verdict.repaired_rows == 1
    finish(lab, started, data, {unit})
    report = lab.control().call("GET", f"/v1/jobs/{started.job}/report", None, Report)
    assert report.repaired_rows == 1
    part = next(each for each in parts(lab, started) if each.unit == unit)
    row, columns = part.start[0] + 5, slice(part.start[1], part.stop[1])
    left, right = (numpy.load(data / name).astype("f8") for name in ("a.npy", "b.npy"))
    exact = (left[row] @ right[:, columns]).astype("f4")
    # The lab node's own row, not the volunteer's, which was off by hundreds of these steps.
    numpy.testing.assert_array_max_ulp(numpy.load(data / "c.npy")[row, columns], exact, 1)


def test_the_site_is_told_the_residuals_once_every_tile_is_verified(
    lab: LabProcess, site: SiteDouble, data: Path, started: JobInfo
) -> None:
    first = lab.wait_units(started.job, 1)[0]
    Volunteer(lab).work(first)
    wait_for(lambda: site.judged(started.job), 10, lab.log)
    assert [each.residual for each in site.judged(started.job)] == [None]
    finish(lab, started, data, {first})

    def told() -> list[float]:
        return [v.residual for v in site.judged(started.job) if v.residual is not None]

    wait_for(lambda: len(told()) == started.progress.units, 10, lab.log)
    report = lab.control().call("GET", f"/v1/jobs/{started.job}/report", None, Report)
    assert max(told()) == pytest.approx(report.max_residual)
    wait_for(lambda: ("finish",) in [(a.action,) for _, a in site.actions], 10, lab.log)


def parts(lab: LabProcess, job: JobInfo) -> list[Part]:
    return lab.control().call("GET", f"/v1/jobs/{job.job}/parts", None, PartList).parts


def generations(lab: LabProcess, job: JobInfo) -> dict[int, tuple[int, int]]:
    """Column block -> generation of its check vectors, and refusals."""
    with contextlib.closing(sqlite3.connect(lab.folder / "lab.sqlite3")) as database:
        rows = database.execute(
            "SELECT block, generation, rejections FROM generations WHERE run = ?", (job.job,)
        ).fetchall()
    return {block: (generation, rejections) for block, generation, rejections in rows}


def test_the_vectors_are_drawn_anew_after_four_refusals(own_lab: LabProcess) -> None:
    """Of the column block that was refused, and of no other; a restart keeps it so."""
    lab = own_lab
    save(lab.data, "a.npy", normal(640, 500))
    save(lab.data, "b.npy", normal(500, 640, seed=1))
    started = lab.multiply("a.npy", "b.npy", out="c.npy", memory=3 << 19)
    units = lab.wait_units(started.job, started.progress.units)
    unit = units[0]
    seen = []
    for number in range(5):
        Volunteer(lab, f"cheat-{number}").work(unit, zeros)
        wait_for(lambda count=number + 1: len(lab.site.judged(started.job)) == count, 10, lab.log)
        seen.append(generations(lab, started))
    assert [list(each.values()) for each in seen] == [
        [(0, 1)], [(0, 2)], [(0, 3)], [(1, 4)], [(1, 5)]
    ]  # fmt: skip
    lab.kill()
    lab.start()
    assert generations(lab, started) == seen[-1]
    finish(lab, started, lab.data, set())
    blocks = {(part.start[1], part.stop[1]) for part in parts(lab, started)}
    assert len(blocks) > 1, "there was another block that might have been drawn anew"


def test_a_late_upload_changes_nothing(lab: LabProcess, data: Path, started: JobInfo) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    slow, quick = Volunteer(lab, "slow"), Volunteer(lab, "quick")
    lease, token, content, digest = slow.compute(unit)
    half = len(content) // 2
    slow.upload(lease, token, content[:half], digest)
    quick.work(unit)
    wait_for(lambda: lab.job(started.job).progress.verified == 1, 10, lab.log)
    with pytest.raises(LeaseEnded):
        slow.upload(lease, token, content, digest, offset=half)
    finish(lab, started, data, {unit})


def test_an_upload_cut_short_goes_on(lab: LabProcess, data: Path, started: JobInfo) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    assert not volunteer.upload(lease, token, content[:1000], digest).complete
    assert lab.job(started.job).progress.verified == 0
    path = f"/v1/leases/{lease}/outputs/0"
    http = lab.data_client(token)
    assert http.call("GET", path, None, UploadStatus).received == 1000
    with pytest.raises(OffsetMismatch) as caught:
        volunteer.upload(lease, token, content, digest, offset=999)
    assert caught.value.facts["received"] == 1000
    status = volunteer.upload(lease, token, content, digest, offset=1000)
    assert status == UploadStatus(received=len(content), bytes=len(content), complete=True)
    assert volunteer.upload(lease, token, content, digest).complete
    assert http.call("GET", path, None, UploadStatus).complete
    finish(lab, started, data, {unit})
    assert http.call("GET", path, None, UploadStatus).complete


def test_a_broken_connection_keeps_what_came(lab: LabProcess, started: JobInfo) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    connection = http.client.HTTPConnection("127.0.0.1", lab.data_port)
    connection.putrequest("PUT", f"/v1/leases/{lease}/outputs/0?offset=0")
    connection.putheader("Authorization", f"Goblin {token}")
    connection.putheader(DIGEST_HEADER, digest)
    connection.putheader("Content-Length", str(len(content)))
    connection.endheaders()
    connection.send(content[: len(content) // 2])
    connection.close()
    client = lab.data_client(token)

    def received() -> int:
        path = f"/v1/leases/{lease}/outputs/0"
        return client.call("GET", path, None, UploadStatus).received

    wait_for(lambda: received() >= len(content) // 2 - (1 << 20), 5)
    assert volunteer.upload(lease, token, content, digest, offset=received()).complete


def test_bytes_that_are_not_what_was_announced(lab: LabProcess, started: JobInfo) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    with pytest.raises(DigestMismatch):
        volunteer.upload(lease, token, content[:-1] + b"x", digest)
    with pytest.raises(WrongLength):
        volunteer.upload(lease, token, content + b"x", digest)
    with pytest.raises(BadMessage):
        volunteer.upload(lease, token, content, "not a digest")
    with pytest.raises(LengthRequired):
        raise without_length(lab, lease, token, digest)
    assert volunteer.upload(lease, token, content, digest).complete
    with pytest.raises(NotFound):
        lab.data_client(token).put(
            f"/v1/leases/{lease}/outputs/1", content, UploadStatus, headers={DIGEST_HEADER: digest}
        )


def without_length(lab: LabProcess, lease: str, token: str, digest: str) -> Problem:
    connection = http.client.HTTPConnection("127.0.0.1", lab.data_port)
    connection.request(
        "PUT",
        f"/v1/leases/{lease}/outputs/0",
        iter([b"some", b"bytes"]),
        encode_chunked=True,
        headers={
            "Authorization": f"Goblin {token}",
            DIGEST_HEADER: digest,
            "Transfer-Encoding": "chunked",
        },
    )
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return problem_from_response(response.status, response.headers["Content-Type"], content)


def test_bytes_of_another_tile(
    lab: LabProcess, site: SiteDouble, data: Path, started: JobInfo
) -> None:
    first, second = lab.wait_units(started.job, 2)[:2]
    volunteer = Volunteer(lab, "mixed-up")
    _, _, content, _ = volunteer.compute(first)
    lease, token = volunteer.lease(second)
    manifest, _, _ = volunteer.fetch(lease, token)
    digest = blob_id(bytes.fromhex(manifest.key), content)
    assert volunteer.upload(lease, token, content, digest).complete
    wait_for(lambda: site.judged(started.job), 10, lab.log)
    assert site.judged(started.job)[0].verdict is not VerdictKind.ACCEPTED
    finish(lab, started, data, set())


def test_an_ended_lease_is_gone(lab: LabProcess, site: SiteDouble, started: JobInfo) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    site.say(
        LabEvent(kind="returned", job=started.job, unit=unit, lease=lease, code="shutting_down")
    )
    http = lab.data_client(token)

    def gone() -> bool:
        try:
            http.get_bytes(f"/v1/leases/{lease}/manifest")
        except LeaseEnded:
            return True
        return False

    wait_for(gone, 10, lab.log)
    with pytest.raises(LeaseEnded):
        volunteer.upload(lease, token, content, digest)


def test_an_expired_lease_may_still_deliver(
    lab: LabProcess, site: SiteDouble, data: Path, started: JobInfo
) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    site.say(LabEvent(kind="expired", job=started.job, unit=unit, lease=lease))
    wait_for(lambda: lab.job(started.job).progress.leased == 0, 10, lab.log)
    assert volunteer.upload(lease, token, content, digest).complete
    finish(lab, started, data, {unit})


def test_a_lease_that_the_site_lost_is_proved(
    lab: LabProcess, site: SiteDouble, started: JobInfo
) -> None:
    unit = lab.wait_units(started.job, 1)[0]
    volunteer = Volunteer(lab)
    lease, token, content, digest = volunteer.compute(unit)
    site.unknown_leases.add(lease)
    volunteer.upload(lease, token, content, digest)
    wait_for(lambda: site.judged(started.job), 10, lab.log)
    assert site.judged(started.job)[0].capability == token


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((1, 1, 1), "float32"),
        ((300, 1, 200), "float64"),
        ((1, 700, 900), "float32"),
        ((900, 700, 1), "float64"),
        ((37, 5000, 41), "float32"),
    ],
)
def test_shapes(lab: LabProcess, data: Path, shape: tuple[int, int, int], dtype: str) -> None:
    m, k, n = shape
    a, b = save(data, "a.npy", normal(m, k, dtype)), save(data, "b.npy", normal(k, n, dtype, 1))
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    Volunteer(lab).work_all(job.job, job.progress.units)
    lab.wait_state(job.job, JobState.DONE)
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), a @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 5, 4), (4, 0, 5), (4, 5, 0), (0, 0, 0)])
def test_empty_axes_need_nobody(lab: LabProcess, data: Path, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    save(data, "a.npy", normal(m, k))
    save(data, "b.npy", normal(k, n))
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    assert lab.wait_state(job.job, JobState.DONE).progress.units == 0
    numpy.testing.assert_array_equal(numpy.load(data / "c.npy"), numpy.zeros((m, n), "f4"))
    parts = lab.control().call("GET", f"/v1/jobs/{job.job}/parts", None, PartList)
    assert parts.finished


def test_vectors_and_one_array_twice(lab: LabProcess, data: Path) -> None:
    a = save(data, "a.npy", normal(300, 300))
    v = save(data, "v.npy", normal(1, 300).reshape(300))
    cases = [
        ("a.npy", "v.npy", [300], a @ v),
        ("v.npy", "a.npy", [300], v @ a),
        ("v.npy", "v.npy", [], v @ v),
        ("a.npy", "a.npy", None, a @ a),
    ]
    for number, (left, right, shape, want) in enumerate(cases):
        if left == right == "v.npy":
            save(data, "w.npy", v)
            right = "w.npy"
        job = lab.multiply(left, right, shape=shape, out=f"c{number}.npy")
        Volunteer(lab).work_all(job.job, job.progress.units)
        lab.wait_state(job.job, JobState.DONE)
        got = numpy.load(data / f"c{number}.npy")
        assert got.shape == numpy.shape(want)
        numpy.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


def test_stored_in_other_orders(lab: LabProcess, data: Path) -> None:
    a, b = normal(257, 300), normal(300, 311, seed=1)
    save(data, "a.npy", numpy.asfortranarray(a.astype(">f4")))
    save(data, "b.npy", numpy.asfortranarray(b))
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    Volunteer(lab).work_all(job.job, job.progress.units)
    lab.wait_state(job.job, JobState.DONE)
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), a @ b, rtol=1e-3, atol=1e-3)


def test_not_a_number_and_infinity(lab: LabProcess, data: Path) -> None:
    a, b = normal(200, 100), normal(100, 150, seed=1)
    a[3, 4], a[7, 8], b[10, 11] = numpy.nan, numpy.inf, -numpy.inf
    save(data, "a.npy", a)
    save(data, "b.npy", b)
    job = lab.multiply("a.npy", "b.npy", out="c.npy")
    Volunteer(lab).work_all(job.job, job.progress.units)
    lab.wait_state(job.job, JobState.DONE)
    with numpy.errstate(invalid="ignore"):
        want = a @ b
    numpy.testing.assert_allclose(numpy.load(data / "c.npy"), want, rtol=1e-3, atol=1e-3)
