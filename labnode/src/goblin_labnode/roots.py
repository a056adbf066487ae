"""Folders that the lab named, and files in them: nothing outside can be opened.

A path is resolved first; what comes out must lie in a root and is then walked from the root's
folder, link by link refused, so that nothing that moves in between leads out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from goblin_wire.problems import FileMissing, FileUnreadable, PathOutsideRoots, Problem

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Place(NamedTuple):
    """A file below a root: the root's name and the path inside it, without links."""

    root: str
    path: str


class Roots:
    """The named folders, and the lab node's own ones, in which no path of a researcher leads."""

    def __init__(self, roots: Mapping[str, str], own: Mapping[str, Path] | None = None) -> None:
        self._named = {name: Path(os.path.realpath(path)) for name, path in roots.items()}
        inner = {name: Path(os.path.realpath(path)) for name, path in (own or {}).items()}
        self._folders = {**self._named, **inner}

    @property
    def names(self) -> list[str]:
        return list(self._named)

    def folder(self, name: str) -> Path:
        return self._folders[name]

    def find(self, text: str) -> Place:
        """The place of an existing file. Raises `PathOutsideRoots` or `FileMissing`."""
        places = self._places(text)
        for place in places:
            # Path.exists raises for a name that no file can have.
            if os.path.exists(self.full(place)):  # noqa: PTH110
                return place
        raise FileMissing(f"There is no file {_shown(text)} here. Roots: {self._listed()}.")

    def find_new(self, text: str) -> Place:
        """The place of a file that may still have to be made; its folder must exist."""
        place = self._places(text)[0]
        if not os.path.isdir(self.full(place).parent):  # noqa: PTH112 - as above
            raise FileMissing(f"The folder of {_shown(text)} does not exist.")
        return place

    def full(self, place: Place) -> Path:
        """The absolute path, for people and for programs that share the file system."""
        return self._folders[place.root] / place.path

    def open(self, place: Place, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of the regular file. Raises `Problem`, or `FileExistsError` for `O_EXCL`.

        No link is followed on the way; `OSError` of a full disk passes through.
        """
        with self._parent(place) as (folder, name):
            descriptor = os.open(name, flags | _FILE_FLAGS, mode, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileUnreadable(f"{_shown(place.path)} is not a regular file.")
        return descriptor

    def stat(self, place: Place) -> os.stat_result:
        with self._parent(place) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def stat_many(self, folder: Place, names: Iterable[str]) -> dict[str, os.stat_result | None]:
        """The status of files in one folder by their names; None for what is not there.

        Its own links are not followed, nor any on the way.
        """
        found: dict[str, os.stat_result | None] = dict.fromkeys(names)
        try:
            with self._parent(Place(folder.root, f"{folder.path}/.")) as (descriptor, _):
                for name in found:
                    with suppress(FileNotFoundError):
                        found[name] = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except FileMissing:
            pass
        return found

    def remove(self, place: Place) -> None:
        with self._parent(place) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def link(self, place: Place, name: str) -> None:
        """Give the file another name in its folder. Raises `FileExistsError`."""
        with self._parent(place) as (folder, old):
            os.link(old, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    @contextmanager
    def _parent(self, place: Place) -> Iterator[tuple[int, str]]:
        *folders, name = place.path.split("/")
        with _translated(place):
            descriptor = os.open(self._folders[place.root], _FOLDER_FLAGS)
            try:
                for folder in folders:
                    inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
                    os.close(descriptor)
                    descriptor = inner
                yield descriptor, name
            finally:
                os.close(descriptor)

    def _places(self, text: str) -> list[Place]:
        if not text or "\0" in text or len(text.encode()) > 4096:
            raise PathOutsideRoots("The path is empty or not one that a file can have.")
        places: list[Place] = []
        for candidate in self._candidates(text):
            place = self._inside(candidate)
            if place is not None:
                places.append(place)
            elif os.path.lexists(candidate):
                raise self._outside(text)
        if not places:
            raise self._outside(text)
        return places

    def _outside(self, text: str) -> PathOutsideRoots:
        return PathOutsideRoots(
            f"{_shown(text)} is not inside a root of this lab node, or is a link that leads"
            f" out of it. Roots: {self._listed()}."
        )

    def _listed(self) -> str:
        """The roots for a message to whoever may use them: `data (/srv/data)`."""
        return ", ".join(f"{name} ({folder})" for name, folder in self._named.items()) or "none"

    def _candidates(self, text: str) -> Iterator[Path]:
        if text.startswith("/"):
            yield Path(text)
            return
        first, _, rest = text.partition("/")
        if rest and first in self._named:
            yield self._named[first] / rest
        yield from (folder / text for folder in self._named.values())

    def _inside(self, path: Path) -> Place | None:
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):
            return None
        for name, folder in self._named.items():
            if real != folder and real.is_relative_to(folder):
                return Place(name, str(real.relative_to(folder)))
        return None


@contextmanager
def _translated(place: Place) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        problem = _problem(error, place)
        if problem is None:
            raise
        try:
            raise problem from None
        finally:
            # Else its traceback holds itself, and with it the open files of whoever called us.
            del problem


def _problem(error: OSError, place: Place) -> Problem | None:
    shown = _shown(place.path)
    if error.errno == errno.ENOENT:
        return FileMissing(f"{shown} does not exist any more.")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return PathOutsideRoots(f"{shown} leads through a link or a file; no link is followed.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENXIO, errno.EROFS):
        return FileUnreadable(f"{shown} cannot be opened: {error.strerror}.")
    return None


def _shown(text: str) -> str:
    return repr(text[:200])
