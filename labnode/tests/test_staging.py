"""Uploads on their way: what has arrived survives a kill, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from goblin_labnode.lease_uploads import Upload, Uploads
from goblin_labnode.staging import StagedFile
from goblin_wire.blobs import BlobHasher, blob_id
from goblin_wire.problems import (
    Conflict,
    DigestMismatch,
    DiskFull,
    LeaseEnded,
    OffsetMismatch,
    WrongLength,
)

KEY = bytes(range(32))
CONTENT = bytes(range(256)) * 40


def upload(folder: Path, digest: str = blob_id(KEY, CONTENT)) -> Upload:
    return Upload(folder / "lease-0", len(CONTENT), KEY, digest)


def test_pieces_make_the_content(tmp_path: Path) -> None:
    found = upload(tmp_path)
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.append(writer, [CONTENT[:1000], CONTENT[1000:5000]])
    assert not found.finish(writer)
    assert found.status().received == 5000
    writer = found.begin(found.digest, 5000, len(CONTENT) - 5000)
    found.append(writer, [CONTENT[5000:]])
    assert found.finish(writer)
    assert found.status().complete
    out = numpy.empty((40, 256), numpy.uint8)
    with found.content() as staged:
        staged.read_rows(0, out)
    assert out.tobytes() == CONTENT


def test_a_new_process_goes_on(tmp_path: Path) -> None:
    first = upload(tmp_path)
    writer = first.begin(first.digest, 0, 3000)
    first.append(writer, [CONTENT[:3000]])
    second = upload(tmp_path)
    assert second.status().received == 3000
    writer = second.begin(second.digest, 3000, len(CONTENT) - 3000)
    second.append(writer, [CONTENT[3000:]])
    assert second.finish(writer)
    assert upload(tmp_path).resume()


def test_the_file_is_reserved_at_once(tmp_path: Path) -> None:
    found = upload(tmp_path)
    found.begin(found.digest, 0, 1)
    assert (tmp_path / "lease-0").stat().st_size >= len(CONTENT)
    assert (tmp_path / "lease-0").stat().st_mode & 0o077 == 0


def test_offsets_and_lengths_must_fit(tmp_path: Path) -> None:
    found = upload(tmp_path)
    with pytest.raises(OffsetMismatch) as caught:
        found.begin(found.digest, 100, 1)
    assert caught.value.facts == {"received": 0}
    with pytest.raises(WrongLength):
        found.begin(found.digest, 0, len(CONTENT) + 1)


def test_wrong_bytes_are_forgotten(tmp_path: Path) -> None:
    found = upload(tmp_path)
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.append(writer, [bytes(len(CONTENT))])
    with pytest.raises(DigestMismatch):
        found.finish(writer)
    assert found.status().received == 0
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.append(writer, [CONTENT])
    assert found.finish(writer)


def test_damage_on_the_disk_is_seen_after_a_restart(tmp_path: Path) -> None:
    found = upload(tmp_path)
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.append(writer, [CONTENT])
    assert found.finish(writer)
    with (tmp_path / "lease-0").open("r+b") as file:
        file.write(b"x")
    again = upload(tmp_path)
    with pytest.raises(DigestMismatch):
        again.resume()
    assert again.status().received == 0


def test_the_newest_writer_wins(tmp_path: Path) -> None:
    found = upload(tmp_path)
    old = found.begin(found.digest, 0, len(CONTENT))
    found.append(old, [CONTENT[:100]])
    new = found.begin(found.digest, 100, len(CONTENT) - 100)
    with pytest.raises(Conflict):
        found.append(old, [CONTENT[100:200]])
    found.append(new, [CONTENT[100:]])
    assert not found.finish(old)
    assert found.finish(new)


def test_from_the_start_again(tmp_path: Path) -> None:
    found = upload(tmp_path)
    writer = found.begin(found.digest, 0, 100)
    found.append(writer, [CONTENT[:100]])
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.append(writer, [CONTENT])
    assert found.finish(writer)


def test_another_digest_starts_anew_but_not_after_the_end(tmp_path: Path) -> None:
    found = upload(tmp_path, "0" * 64)
    writer = found.begin("0" * 64, 0, 100)
    found.append(writer, [CONTENT[:100]])
    digest = blob_id(KEY, CONTENT)
    writer = found.begin(digest, 0, len(CONTENT))
    found.append(writer, [CONTENT])
    assert found.finish(writer)
    with pytest.raises(Conflict):
        found.begin("1" * 64, 0, 1)


def test_nothing_is_taken_after_it_was_discarded(tmp_path: Path) -> None:
    found = upload(tmp_path)
    writer = found.begin(found.digest, 0, len(CONTENT))
    found.discard()
    with pytest.raises(LeaseEnded):
        found.append(writer, [CONTENT])
    assert not (tmp_path / "lease-0").exists()


def test_leases_have_their_own_files(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, KEY)
    first, second = (uploads.add(name, 4, "0" * 64) for name in ("a" * 32, "b" * 32))
    for each, content in ((first, b"aaaa"), (second, b"bbbb")):
        each.append(each.begin("0" * 64, 0, 4), [content])
    assert (tmp_path / f"{'a' * 32}-0").read_bytes()[:4] == b"aaaa"
    assert (tmp_path / f"{'b' * 32}-0").read_bytes()[:4] == b"bbbb"
    (tmp_path / f"{'c' * 32}-0").write_bytes(b"old")
    uploads.sweep(lambda lease: False)
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["a", "b"]
    uploads.discard(["a" * 32])
    assert uploads.get("a" * 32) is None


def test_what_is_complete_is_not_begun_again(tmp_path: Path) -> None:
    """Its digest was told and stands in the verdict; other bytes must not take its place."""
    announced = blob_id(KEY, CONTENT)
    upload = Upload(tmp_path / "x", len(CONTENT), KEY, announced)
    writer = upload.begin(announced, 0, len(CONTENT))
    upload.append(writer, [CONTENT])
    assert upload.finish(writer)
    with pytest.raises(OffsetMismatch) as refusal:
        upload.begin(announced, 0, len(CONTENT))
    assert refusal.value.facts["received"] == len(CONTENT)
    upload.begin(announced, len(CONTENT), 0)
    assert upload.status().complete
    with upload.content() as staged:
        assert staged.digest() == announced


def test_a_full_disk_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = StagedFile(tmp_path / "x", len(CONTENT), BlobHasher(KEY))
    staged.append([CONTENT[:100]])

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(DiskFull):
            staged.append([CONTENT[100:200]])
    assert staged.received == 100
    staged.append([CONTENT[100:]])
    assert staged.digest() == blob_id(KEY, CONTENT)
