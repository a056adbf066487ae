"""The cache: whole blobs only, a cap, and nothing in use is removed."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from goblin_client.errors import Unwanted
from goblin_client.transfer import cache as module
from goblin_client.transfer.cache import LOOK_S, BlobCache, BlobKey
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
    assert cache.has(key, 11, SECRET)
    assert cache.path(key).read_bytes() == b"hello world"
    assert not cache.has(key, 12, SECRET)
    assert stat.S_IMODE(cache.path(key).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"hello", b"jello world", b""])
def test_what_is_cut_or_wrong_is_not_kept(tmp_path: Path, content: bytes) -> None:
    cache = BlobCache(tmp_path, 1000)
    key = BlobKey(LAB, blob_id(SECRET, b"hello world"))
    with pytest.raises(DigestMismatch), cache.draft(key, 11, SECRET) as draft:
        draft.write(content)
    assert not cache.has(key, 11, SECRET)
    assert cache.used == 0
    assert not list(tmp_path.glob("*/*"))


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 30)
    first, second, third = (put(cache, bytes([each]) * 10) for each in range(3))
    assert cache.has(first, 10, SECRET)
    put(cache, b"x" * 10)
    assert cache.has(first, 10, SECRET)
    assert not cache.has(second, 10, SECRET)
    assert cache.has(third, 10, SECRET)
    assert cache.used == 30


def test_the_order_survives_a_restart(tmp_path: Path) -> None:
    first, second = (put(BlobCache(tmp_path, 30), bytes([each]) * 10) for each in range(2))
    os.utime(BlobCache(tmp_path, 30).path(second), (1, 1))
    cache = BlobCache(tmp_path, 20)
    put(cache, b"x" * 10)
    assert cache.has(first, 10, SECRET)
    assert not cache.has(second, 10, SECRET)


def test_parts_of_an_earlier_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / LAB).mkdir()
    (tmp_path / LAB / "abc.part").write_bytes(b"half")
    assert BlobCache(tmp_path, 100).used == 0
    assert not list(tmp_path.glob("*/*.part"))


def test_a_smaller_cap_is_kept_at_once(tmp_path: Path) -> None:
    put(BlobCache(tmp_path, 100), b"x" * 50)
    assert BlobCache(tmp_path, 20).used == 0


# --- the cap -------------------------------------------------------------------------------------
def fill(cache: BlobCache, lease: str, count: int) -> list[BlobKey]:
    """Inputs of 10 bytes that the lease has, as many as a device begins with and more."""
    keys = []
    for place in range(count):
        keys.append(BlobKey(LAB, blob_id(SECRET, f"{lease}{place}".ljust(10).encode())))
        cache.pin(keys[-1], (lease, place))
        with cache.draft(keys[-1], 10, SECRET, (lease, place)) as draft:
            draft.write(f"{lease}{place}".ljust(10).encode())
    return keys


def arriving(cache: BlobCache, lease: str, place: int) -> tuple[threading.Thread, BlobKey]:
    """A download of 10 more bytes in a thread of its own."""
    content = f"more of {place}".ljust(10).encode()
    key = BlobKey(LAB, blob_id(SECRET, content))
    cache.pin(key, (lease, place))

    def download() -> None:
        with cache.draft(key, 10, SECRET, (lease, place)) as draft:
            draft.write(content)

    thread = threading.Thread(target=download, daemon=True)
    thread.start()
    return thread, key


def test_what_is_in_use_stays_and_a_download_waits_for_room(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 25)
    held = fill(cache, "unit", 2)
    thread, key = arriving(cache, "unit", 2)
    # However slow the arithmetic is: what it has will be let go.
    time.sleep(2 * LOOK_S)
    assert thread.is_alive()
    assert cache.used <= 25
    cache.release("unit", 0)
    thread.join(3)
    assert cache.has(key, 10, SECRET)
    assert not cache.path(held[0]).exists()
    assert cache.path(held[1]).exists()
    assert cache.used <= 25


def test_a_download_that_a_device_stands_still_for_goes_over_the_cap(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 25)
    fill(cache, "unit", 2)
    thread, key = arriving(cache, "unit", 2)
    cache.awaited("unit", 1)
    time.sleep(0.1)
    assert thread.is_alive()
    cache.awaited("unit", 2)
    thread.join(3)
    assert cache.has(key, 10, SECRET)
    # Once, not from now on.
    later, _ = arriving(cache, "unit", 3)
    time.sleep(0.1)
    assert later.is_alive()
    cache.release("unit")
    later.join(3)
    assert not later.is_alive()


def test_the_next_unit_gets_what_a_device_begins_with(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 35)
    fill(cache, "unit", 2)
    fill(cache, "next", 2)
    waiting, _ = arriving(cache, "next", 2)
    time.sleep(0.1)
    assert waiting.is_alive()
    cache.release("unit")
    waiting.join(3)
    assert not waiting.is_alive()


def test_room_that_a_crashed_process_holds_does_not_stop_a_unit_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STUCK_S", 0.5)
    computing = {"unit"}
    cache = BlobCache(tmp_path, 25, computing.__contains__)
    fill(cache, "unit", 2)
    thread, key = arriving(cache, "unit", 2)
    thread.join(1.5)
    assert thread.is_alive()
    computing.clear()
    thread.join(3)
    assert cache.has(key, 10, SECRET)


def test_a_download_that_nobody_wants_any_more_stops_waiting(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 25)
    fill(cache, "unit", 2)
    key = BlobKey(LAB, "ab" * 32)
    with (
        pytest.raises(Unwanted),
        cache.draft(key, 10, SECRET, ("unit", 2), lambda _lease: False),
    ):
        pytest.fail("there is no room")
    assert cache.used == 20


# --- what an earlier process left -----------------------------------------------------------------
@pytest.mark.parametrize("content", [bytes(11), b"hellO world"])
def test_what_a_power_cut_left_is_found_out_before_it_is_used(
    tmp_path: Path, content: bytes
) -> None:
    key = put(BlobCache(tmp_path, 1000), b"hello world")
    other = put(BlobCache(tmp_path, 1000), b"other")
    path = BlobCache(tmp_path, 1000).path(key)
    path.write_bytes(content)
    cache = BlobCache(tmp_path, 1000)
    assert not cache.has(key, 11, SECRET)
    assert not path.exists()
    assert cache.has(other, 5, SECRET)
    assert cache.used == 5
    put(cache, b"hello world")
    assert cache.has(key, 11, SECRET)


def test_labs_do_not_share_blobs(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 100)
    key = put(cache, b"hello")
    assert not cache.has(BlobKey("2" * 32, key.blob), 5, SECRET)


def test_a_blob_that_somebody_deleted_is_missed(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, 100)
    key = put(cache, b"hello")
    cache.path(key).unlink()
    assert not cache.has(key, 5, SECRET)
    assert cache.used == 0
