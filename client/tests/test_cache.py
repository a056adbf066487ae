"""The cache: whole blobs only, a cap, and nothing in use is removed."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from goblin_client.transfer import cache as module
from goblin_client.transfer.cache import BlobCache, BlobKey
from goblin_wire.blobs import blob_id
from goblin_wire.problems import DigestMismatch

SECRET = bytes(32)
LAB = "1" * 32


def put(cache: BlobCache, content: bytes, lab: str = LAB) -> BlobKey:
    key = BlobKey(lab, blob_id(SECRET, content))
    with cache.draft(key, len(content), SECRET) as draft:
        draft.write(content[:3])
        draft.write(content[3:])
    return key


def test_a_blob_is_there_once_it_is_whole(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 1000)
    key = put(cache, b"hello world")
    assert cache.has(key, 11)
    assert cache.path(key).read_bytes() == b"hello world"
    assert not cache.has(key, 12)
    assert stat.S_IMODE(cache.path(key).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"hello", b"jello world", b""])
def test_what_is_cut_or_wrong_is_not_kept(tmp_path: Path, content: bytes) -> None:
    cache = BlobCache(tmp_path, 1000)
    key = BlobKey(LAB, blob_id(SECRET, b"hello world"))
    with pytest.raises(DigestMismatch), cache.draft(key, 11, SECRET) as draft:
        draft.write(content)
    assert not cache.has(key, 11)
    assert cache.used == 0
    assert not list(tmp_path.glob("*/*"))


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 30)
    first, second, third = (put(cache, bytes([each]) * 10) for each in range(3))
    assert cache.has(first, 10)
    put(cache, b"x" * 10)
    assert cache.has(first, 10)
    assert not cache.has(second, 10)
    assert cache.has(third, 10)
    assert cache.used == 30


def test_the_order_survives_a_restart(tmp_path: Path) -> None:
    first, second = (put(BlobCache(tmp_path, 30), bytes([each]) * 10) for each in range(2))
    os.utime(BlobCache(tmp_path, 30).path(second), (1, 1))
    cache = BlobCache(tmp_path, 20)
    put(cache, b"x" * 10)
    assert cache.has(first, 10)
    assert not cache.has(second, 10)


def test_parts_of_an_earlier_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / LAB).mkdir()
    (tmp_path / LAB / "abc.part").write_bytes(b"half")
    assert BlobCache(tmp_path, 100).used == 0
    assert not list(tmp_path.glob("*/*.part"))


def test_a_smaller_cap_is_kept_at_once(tmp_path: Path) -> None:
    put(BlobCache(tmp_path, 100), b"x" * 50)
    assert BlobCache(tmp_path, 20).used == 0


def test_what_is_in_use_stays_and_a_download_waits_for_room(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 25)
    held = put(cache, b"a" * 10)
    cache.pin(held, ("lease", 0))
    cache.pin(held, ("lease", 1))
    put(cache, b"b" * 10)
    cache.release("lease", 0)
    threading.Timer(0.2, cache.release, ("lease",)).start()
    began = time.monotonic()
    put(cache, b"c" * 20)
    assert 0.1 < time.monotonic() - began < 3
    assert not cache.path(held).exists()


def test_a_download_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.1)
    cache = BlobCache(tmp_path, 15)
    held = put(cache, b"a" * 10)
    cache.pin(held, ("lease", 0))
    put(cache, b"b" * 10)
    assert cache.has(held, 10)


def test_labs_do_not_share_blobs(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 100)
    key = put(cache, b"hello")
    assert not cache.has(BlobKey("2" * 32, key.blob), 5)


def test_a_blob_that_somebody_deleted_is_missed(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 100)
    key = put(cache, b"hello")
    cache.path(key).unlink()
    assert not cache.has(key, 5)
    assert cache.used == 0
