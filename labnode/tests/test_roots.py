"""No path leads out of the roots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goblin_labnode.roots import Place, Roots
from goblin_wire.problems import FileMissing, FileUnreadable, PathOutsideRoots


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("one/inner", "two", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "one/a.npy").write_text("a")
    (tmp_path / "one/inner/b.npy").write_text("b")
    (tmp_path / "two/c.npy").write_text("c")
    (tmp_path / "outside/secret.npy").write_text("secret")
    return tmp_path


@pytest.fixture
def roots(tree: Path) -> Roots:
    return Roots({"one": str(tree / "one"), "two": str(tree / "two")}, {"@own": tree / "outside"})


def content(roots: Roots, place: Place) -> bytes:
    descriptor = roots.open(place)
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.npy", Place("one", "a.npy")),
        ("one/a.npy", Place("one", "a.npy")),
        ("two/c.npy", Place("two", "c.npy")),
        ("c.npy", Place("two", "c.npy")),
        ("inner/b.npy", Place("one", "inner/b.npy")),
        ("inner/../a.npy", Place("one", "a.npy")),
    ],
)
def test_what_is_inside_is_found(roots: Roots, text: str, place: Place) -> None:
    assert roots.find(text) == place
    assert content(roots, place)


def test_absolute_paths_inside(roots: Roots, tree: Path) -> None:
    assert roots.find(str(tree / "two/c.npy")) == Place("two", "c.npy")


@pytest.mark.parametrize(
    "text",
    [
        "../outside/secret.npy",
        "/etc/passwd",
        "one/../../outside/secret.npy",
        "",
        ".",
        "one/..",
        "a\0b",
        "x" * 5000,
        "x" * 300,
        "one/" + "x" * 300 + "/y.npy",
        "@own/secret.npy/../../outside/secret.npy",
        "/proc/self/environ",
    ],
)
def test_what_is_outside_is_refused(roots: Roots, text: str) -> None:
    with pytest.raises((PathOutsideRoots, FileMissing)):
        roots.find(text)


def test_existence_outside_is_not_told(roots: Roots, tree: Path) -> None:
    for name in ("secret.npy", "nothing.npy"):
        with pytest.raises(PathOutsideRoots):
            roots.find(str(tree / "outside" / name))


def test_links_out_of_the_roots_are_refused(roots: Roots, tree: Path) -> None:
    (tree / "one/link.npy").symlink_to(tree / "outside/secret.npy")
    (tree / "one/way").symlink_to(tree / "outside")
    for text in ("link.npy", "way/secret.npy"):
        with pytest.raises(PathOutsideRoots):
            roots.find(text)
    for path in ("link.npy", "way/secret.npy"):
        with pytest.raises(PathOutsideRoots):
            roots.open(Place("one", path))


def test_links_within_the_roots_are_followed(roots: Roots, tree: Path) -> None:
    (tree / "one/link.npy").symlink_to(tree / "two/c.npy")
    assert roots.find("link.npy") == Place("two", "c.npy")


def test_a_folder_that_became_a_link_is_refused(roots: Roots, tree: Path) -> None:
    place = roots.find("inner/b.npy")
    (tree / "one/inner").rename(tree / "one/moved")
    (tree / "one/inner").symlink_to(tree / "outside")
    (tree / "outside/b.npy").write_text("secret")
    with pytest.raises(PathOutsideRoots):
        roots.open(place)


def test_only_regular_files(roots: Roots, tree: Path) -> None:
    os.mkfifo(tree / "one/pipe.npy")
    with pytest.raises(FileUnreadable):
        roots.open(roots.find("pipe.npy"))
    with pytest.raises((FileUnreadable, FileMissing)):
        roots.open(roots.find("inner"))


def test_new_files_need_their_folder(roots: Roots) -> None:
    assert roots.find_new("inner/new.npy") == Place("one", "inner/new.npy")
    assert roots.find_new("two/new.npy") == Place("two", "new.npy")
    with pytest.raises(FileMissing):
        roots.find_new("nowhere/new.npy")
    with pytest.raises(FileMissing):
        roots.find_new("x" * 300 + "/new.npy")
    with pytest.raises(PathOutsideRoots):
        roots.find_new("../new.npy")


def test_missing_files(roots: Roots) -> None:
    with pytest.raises(FileMissing):
        roots.find("missing.npy")
    with pytest.raises(FileMissing):
        roots.open(Place("one", "missing.npy"))
