"""Tiles and files beyond 2 and 4 GiB: made of holes, so that they cost time and no room."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from goblin_labnode.files import DataFile, Identity
from goblin_labnode.lease_uploads import Upload
from goblin_labnode.matrices import FileMatrix
from goblin_labnode.npy import header_bytes, read_layout
from goblin_labnode.output import Output, OutputFile, create
from goblin_labnode.roots import Roots
from goblin_wire.blobs import BlobHasher

GB = 10**9
SIZES = (2 * GB + GB // 10, 4 * GB + 3 * GB // 10)
"""Just above what a signed and an unsigned number of 32 bits can count."""
KEY = bytes(range(32))
LAST = bytes(range(256)) * 4096
COUNTER_BYTES = 8


@pytest.fixture
def holes(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: to read its holes costs the kernel nothing."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


def upload_with_holes(path: Path, size: int) -> str:
    """An upload of which all but `LAST` has arrived as zeros; the digest of the whole."""
    received = size - len(LAST)
    with path.open("wb") as file:
        file.truncate(size + COUNTER_BYTES)
        file.seek(size)
        file.write(received.to_bytes(COUNTER_BYTES, "little"))
    hasher, zeros = BlobHasher(KEY), memoryview(bytes(1 << 24))
    for offset in range(0, received, len(zeros)):
        hasher.update(zeros[: received - offset])
    hasher.update(LAST)
    return hasher.hexdigest()


@pytest.mark.parametrize("size", SIZES)
def test_row_23_an_upload_of_any_size_is_taken_and_read(holes: Path, size: int) -> None:
    digest = upload_with_holes(holes / "lease-0", size)
    upload = Upload(holes / "lease-0", size, KEY, digest)
    assert upload.status().received == size - len(LAST)
    writer = upload.begin(digest, size - len(LAST), len(LAST))
    upload.append(writer, [LAST])
    assert upload.finish(writer)
    row = numpy.empty((1, len(LAST)), numpy.uint8)
    width = len(LAST)
    rows = size // width
    with upload.content() as staged:
        staged.read_rows(rows - 1, row)
    start = (rows - 1) * width - (size - width)
    assert row.tobytes()[-start if start < 0 else 0 :] == LAST[: width + start]
    upload.discard()


@pytest.mark.parametrize("size", SIZES)
def test_row_23_inputs_and_outputs_of_any_size(tmp_path: Path, size: int) -> None:
    columns = 25_000
    shape = (size // (4 * columns), columns)
    output = Output(root="data", path="C.npy", own=False, dtype="float32", shape=list(shape))
    roots = Roots({"data": str(tmp_path)})
    create(output, roots)
    os.truncate(tmp_path / "C.npy", len(output.header) + output.data_bytes)
    with (tmp_path / "C.npy").open("r+b") as file:
        file.write(header_bytes(numpy.dtype("float32"), shape))
    tile = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    OutputFile(output, roots, shape).write(shape[0] - 3, columns - 4, tile)
    descriptor = os.open(tmp_path / "C.npy", os.O_RDONLY)
    identity = Identity.of(os.fstat(descriptor))
    layout = read_layout(lambda at, count: os.pread(descriptor, count, at), identity.size)
    opened = DataFile(descriptor, identity, (tmp_path / "C.npy").stat, "C.npy")
    found = FileMatrix(opened, layout, shape).read(shape[0] - 3, shape[0], columns - 4, columns)
    numpy.testing.assert_array_equal(found, tile)
    mapped = numpy.load(tmp_path / "C.npy", mmap_mode="r")
    numpy.testing.assert_array_equal(mapped[-3:, -4:], tile)
    assert not mapped[0].any()
