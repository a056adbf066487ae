"""Proofs of a shared file system: one for each who asks, and none stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from goblin_labnode.proofs import LIFETIME_S, Proofs


@pytest.fixture
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "proofs"


def test_two_who_ask_do_not_disturb_each_other(tmp_path: Path, journal: Path) -> None:
    proofs = Proofs(journal)
    made = [proofs.write(tmp_path / "C.npy") for _ in range(2)]
    for path, nonce in made:
        assert Path(path).read_text() == nonce
        assert Path(path).parent == tmp_path
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert made[0] != made[1]


def test_they_live_for_a_minute(tmp_path: Path, journal: Path) -> None:
    now = 0.0
    proofs = Proofs(journal, lambda: now)
    proofs.write(tmp_path / "C.npy")
    now = LIFETIME_S - 1
    proofs.write(tmp_path / "D.npy")
    proofs.sweep()
    assert len(list(tmp_path.iterdir())) == 2
    now = LIFETIME_S
    proofs.sweep()
    (left,) = tmp_path.iterdir()
    left.unlink()
    proofs.sweep(0.0)
    assert list(tmp_path.iterdir()) == []


def test_where_none_can_be_written_there_is_none(tmp_path: Path, journal: Path) -> None:
    path, nonce = Proofs(journal).write(tmp_path / "missing" / "C.npy")
    assert path == ""
    assert nonce


def test_a_killed_process_leaves_none_behind(tmp_path: Path, journal: Path) -> None:
    folder = tmp_path / "a\nb"
    folder.mkdir()
    for _ in range(2):
        Proofs(journal).write(folder / "C.npy")
    with journal.open("ab") as file:
        file.write(b'"/torn')
    Proofs(journal)
    assert list(folder.iterdir()) == []
    assert not journal.exists()
