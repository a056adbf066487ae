"""Key files: made on first use, private, the same for every process."""

from __future__ import annotations

import multiprocessing
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from goblin_wire import capability
from gpugoblin_site import keys


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = keys.directory()
    keys.configure(tmp_path / "state")
    yield tmp_path / "state"
    keys.configure(before)


def test_secrets_are_made_once_and_private(folder: Path) -> None:
    first = (keys.ticket_secret(), keys.pseudonym_secret(), keys.address_secret())
    assert len(set(first)) == 3
    assert all(len(secret) == 32 for secret in first)
    keys.forget()
    assert (keys.ticket_secret(), keys.pseudonym_secret(), keys.address_secret()) == first
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_file_that_others_can_read_is_refused(folder: Path) -> None:
    keys.ticket_secret()
    (folder / "ticket-secret").chmod(0o640)
    keys.forget()
    with pytest.raises(keys.UnsafeKeyFile, match="chmod 600"):
        keys.ticket_secret()


def test_a_damaged_file_is_refused(folder: Path) -> None:
    keys.ticket_secret()
    (folder / "ticket-secret").write_bytes(b"short")
    keys.forget()
    with pytest.raises(keys.UnsafeKeyFile, match="32 bytes"):
        keys.ticket_secret()


def test_rotation_keeps_two_keys_valid(folder: Path) -> None:
    first = keys.signing_key()
    assert keys.site_keys() == {first.kid: first.public}
    second = keys.rotate_site_key()
    assert keys.signing_key().kid == second.kid
    assert keys.site_keys().keys() == {first.kid, second.kid}
    third = keys.rotate_site_key()
    assert keys.site_keys().keys() == {second.kid, third.kid}


def test_the_key_signs_what_site_keys_verify(folder: Path) -> None:
    claims = capability.Claims(
        kid=keys.signing_key().kid,
        lab="0" * 32,
        lease="1" * 32,
        unit="2" * 32,
        manifest="3" * 64,
        output_bytes=1,
        host="4" * 32,
        volunteer="v",
        issued=1000.0,
    )
    token = capability.issue(keys.signing_key(), claims)
    assert capability.read(token, keys.site_keys(), now=1000.0).lease == "1" * 32


def _read_all(folder: Path) -> tuple[bytes, str]:
    keys.configure(folder)
    keys.forget()
    return keys.ticket_secret(), keys.signing_key().kid


def test_processes_that_start_together_agree(folder: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        found = pool.map(_read_all, [folder] * 8, chunksize=1)
    assert len(set(found)) == 1
    assert [path.name for path in (folder / "site-keys").iterdir()] == [f"{0:020d}-first"]
