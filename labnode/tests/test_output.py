"""Whether an output is gone for good."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from goblin_labnode.output import Output, create, is_lost
from goblin_labnode.roots import Roots


@dataclass
class Made:
    output: Output
    roots: Roots
    root: Path


@pytest.fixture
def made(tmp_path: Path) -> Made:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    roots = Roots({"root": str(root)})
    output = Output(root="root", path="sub/c.npy", own=False, dtype="float32", shape=[2, 2])
    create(output, roots)
    return Made(output, roots, root)


def test_what_is_there_is_not_lost(made: Made) -> None:
    assert not is_lost(made.output, made.roots)


def test_removed_or_replaced(made: Made) -> None:
    shutil.rmtree(made.root / "sub")
    assert is_lost(made.output, made.roots)
    (made.root / "sub").mkdir()
    assert is_lost(made.output, made.roots)
    (made.root / "sub/c.npy").write_text("another")
    made.output.inode += 1  # the system may give the number again at once
    assert is_lost(made.output, made.roots)


def test_a_disk_that_is_away_may_come_back(made: Made) -> None:
    made.root.rename(made.root.with_name("away"))
    assert not is_lost(made.output, made.roots)
    made.root.mkdir()
    made.output.device += 1  # where the disk was mounted an empty folder of another is seen
    assert not is_lost(made.output, made.roots)
