"""Arrays that were sent: acknowledged once they are on the disk, and readable by nobody else."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
from pathlib import Path

import numpy
import pytest

from goblin_labnode.array_uploads import ArrayUploads
from goblin_labnode.arrays import UPLOADED, ArrayRegistry
from goblin_labnode.config import Folder
from goblin_labnode.control_listener import _Span
from goblin_labnode.roots import Roots
from goblin_labnode.store.database import Database
from goblin_wire.blobs import array_digest
from goblin_wire.control import UploadStart

CONTENT = numpy.arange(1000, dtype="float32")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "lab")
    made.path.mkdir(mode=0o755)
    made.path.chmod(0o755)
    made.create()
    return made


def test_an_array_is_on_the_disk_before_it_is_acknowledged(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(folder.database)
    arrays = ArrayRegistry(database, Roots({}, {UPLOADED: folder.arrays}), bytes(32))
    uploads = ArrayUploads(folder, arrays, bytes(32))
    digest = array_digest("float32", (1000,), CONTENT)
    started = uploads.start(UploadStart(digest=digest, dtype="float32", shape=[1000]))
    uploads.append(started.upload, 0, [CONTENT.tobytes()])
    synced: list[int] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        # Nobody may have been told before: the row is what an answer is made of.
        assert database.row("SELECT 1 FROM arrays WHERE id = ?", started.upload) is None
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    done = uploads.finish(started.upload)
    assert done.array is not None
    (file,) = folder.arrays.iterdir()
    assert synced == [file.stat().st_ino, folder.arrays.stat().st_ino]
    assert file.read_bytes() == CONTENT.tobytes()
    database.close()


def test_other_users_can_read_nothing_of_the_folder(folder: Folder) -> None:
    # As an earlier version may have left it, beside a database in use.
    database = Database(folder.database)
    database.execute("INSERT INTO memory VALUES ('x', 'y')")
    for file in folder.path.glob("lab.sqlite3*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    database.close()
    folder.database.chmod(0o644)
    Database(folder.database).close()
    for path in (folder.path, folder.staging, folder.arrays, folder.uploads, folder.results):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    assert stat.S_IMODE(folder.database.stat().st_mode) == 0o600


@pytest.mark.parametrize("begun", [False, True])
def test_a_reader_that_leaves_leaves_no_open_file(tmp_path: Path, begun: bool) -> None:
    path = tmp_path / "result"
    path.write_bytes(b"x" * 100)
    descriptor = os.open(path, os.O_RDONLY)

    async def read() -> None:
        chunks = _Span(descriptor, 10, 20).chunks()
        if begun:
            assert await anext(chunks) == b"x" * 20

    asyncio.run(read())
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
