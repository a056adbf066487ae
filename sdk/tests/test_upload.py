"""Uploads: once, whole, and from where they broke off."""

from __future__ import annotations

import resource

import numpy
import pytest

import gpugoblin
from gpugoblin import errors, upload
from gpugoblin.upload import PIECE_BYTES

from .fake_control import FakeLab, Handler


def puts(fake: FakeLab) -> list[int]:
    return [
        size
        for method, path, size in fake.requests
        if (method, path[:11]) == ("PUT", "/v1/uploads")
    ]


def test_a_small_array_goes_in_one_request_and_only_once(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    a = numpy.random.default_rng(1).standard_normal((500, 400))
    first = lab.array(a)
    again = lab.array(numpy.asfortranarray(a))
    assert first.source.key == again.source.key  # type: ignore[union-attr]
    assert puts(fake) == [a.nbytes]
    assert numpy.array_equal(fake.arrays[first.source.key], a)  # type: ignore[union-attr]


def test_an_empty_array(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    lazy = lab.array(numpy.zeros((0, 3)))
    assert lazy.shape == (0, 3)
    assert puts(fake) == [0]


def test_row_20_a_large_array_goes_in_pieces_with_progress_and_never_in_the_graph(
    lab: gpugoblin.Lab, fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpugoblin.upload.INLINE_BYTES", 1 << 20)
    monkeypatch.setattr("gpugoblin.upload.PIECE_BYTES", 1 << 19)
    a = numpy.random.default_rng(1).standard_normal((600, 1000))
    told: list[int] = []
    upload.upload(lab.connection, a, lambda done, whole: told.append(done))
    assert max(puts(fake)) <= 1 << 19
    assert told == sorted(told)
    assert told[-1] == a.nbytes
    job = (lab.array(a) @ numpy.ones(1000)).submit()
    sizes = [size for method, path, size in fake.requests if path == "/v1/jobs"]
    assert max(sizes) < 2000
    assert job.shape == (600,)


def test_a_broken_upload_goes_on_where_the_lab_has_it(
    lab: gpugoblin.Lab, fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpugoblin.upload.INLINE_BYTES", 0)
    monkeypatch.setattr("gpugoblin.upload.PIECE_BYTES", 100_000)
    a = numpy.arange(100_000, dtype=numpy.float64)
    broken = [3, 5]

    def cut(handler: Handler) -> bool:
        if handler.command == "PUT" and broken and len(puts(fake)) == broken[0]:
            broken.pop(0)
            handler.close_connection = True
            return True
        return False

    fake.faults.append(cut)
    info = upload.upload(lab.connection, a, lambda _done, _all: None)
    assert numpy.array_equal(fake.arrays[info.array], a)
    assert sum(puts(fake)) < a.nbytes + 3 * 100_000
    assert not broken


def test_an_upload_that_always_breaks_is_given_up(
    lab: gpugoblin.Lab, fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)

    def cut(handler: Handler) -> bool:
        handler.close_connection = handler.command == "PUT"
        return handler.command == "PUT"

    fake.faults.append(cut)
    with pytest.raises(errors.Unreachable):
        lab.array(numpy.ones(10))


def test_an_upload_that_another_process_moved_on_is_taken_up(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    a = numpy.arange(1000.0)
    moved = [True]

    def ahead(handler: Handler) -> bool:
        if handler.command == "PUT" and moved:
            moved.pop()
            (content,) = [content for _, content in fake.uploads.values()]
            content += a.tobytes()[:800]
        return False

    fake.faults.append(ahead)
    assert lab.array(a).shape == (1000,)
    assert puts(fake) == [8000, 7200]


def test_row_21_memory_stays_near_the_input(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    """Peak memory of this process over the upload of a Fortran array, the fake lab included."""
    a = numpy.asfortranarray(numpy.ones((5000, 1250)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    from gpugoblin import intake

    intake.digest(a)
    assert max(len(piece) for piece in intake.pieces(a, PIECE_BYTES)) <= PIECE_BYTES
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert after - before < 60e6


def test_bad_arrays_are_refused_before_anything_is_sent(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    count = len(fake.requests)
    for bad in (numpy.ones(3, bool), numpy.ones(3, complex), numpy.array([{}]), [1.0]):
        with pytest.raises((errors.DtypeUnsupported, errors.BadArray)):
            lab.array(bad)
    assert len(fake.requests) == count
