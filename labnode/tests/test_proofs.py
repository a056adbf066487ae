"""Proofs of a shared file system: one for each who asks, and none stays."""

from __future__ import annotations

import stat
from pathlib import Path

from goblin_labnode.proofs import LIFETIME_S, Proofs


def test_two_who_ask_do_not_disturb_each_other(tmp_path: Path) -> None:
    proofs = Proofs()
    made = [proofs.write(tmp_path / "C.npy") for _ in range(2)]
    for path, nonce in made:
        assert Path(path).read_text() == nonce
        assert Path(path).parent == tmp_path
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert made[0] != made[1]


def test_they_live_for_a_minute(tmp_path: Path) -> None:
    now = 0.0
    proofs = Proofs(lambda: now)
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


def test_where_none_can_be_written_there_is_none(tmp_path: Path) -> None:
    path, nonce = Proofs().write(tmp_path / "missing" / "C.npy")
    assert path == ""
    assert nonce
