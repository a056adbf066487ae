"""Fetching a result: mapped where the file is shared, else downloaded and taken up again."""

from __future__ import annotations

import contextlib
import hmac
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_wire.backoff import Backoff
from goblin_wire.control import ResultInfo
from goblin_wire.http import HttpClient
from gpugoblin import words
from gpugoblin.connection import Connection
from gpugoblin.errors import BadReply, DiskFull, OutputExists, TooLarge, Unreachable

IN_MEMORY_BYTES = 1 << 30
"""A result above this is downloaded into a file that the researcher names."""
PIECE_BYTES = 16 << 20
ATTEMPTS = 8

Note = Callable[[str], None]


def fetch(
    connection: Connection, job: str, *, to: str | os.PathLike[str] | None, note: Note
) -> NDArray[Any]:
    """The finished job's result as a read-only map of the shared file, or downloaded.

    Raises the lab node's `NotReady`, `JobFailed`, `JobCancelled`, `ResultExpired`, and `TooLarge`
    where it would have to be downloaded into memory and has more than a gibibyte.
    """
    info = connection.call("GET", f"/v1/jobs/{job}/result", None, ResultInfo)
    if to is None and is_shared(info):
        return _mapped(info)
    if to is None and info.bytes > IN_MEMORY_BYTES:
        raise TooLarge(
            f"The result has {words.size(info.bytes)} and lies on another machine. Download it into"
            " a file: job.result(to='C.npy'). It goes on where it broke off when run again."
        )
    note(f"Downloading the result, {words.size(info.bytes)}.")
    return _download(connection, job, info, Path(to) if to is not None else None)


def is_shared(info: ResultInfo) -> bool:
    """Whether this process sees the lab node's file system: the proof holds the nonce."""
    try:
        with Path(info.proof).open("rb") as file:
            found = file.read(1024)
    except (OSError, ValueError):
        return False
    return hmac.compare_digest(found.strip(), info.nonce.encode())


def _mapped(info: ResultInfo) -> NDArray[Any]:
    empty = info.bytes == 0
    try:
        array = numpy.load(info.path, mmap_mode=None if empty else "r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadReply(f"The result {info.path} cannot be read: {error}") from None
    if array.shape != tuple(info.shape) or array.dtype.name != info.dtype:
        raise BadReply(f"The file {info.path} holds another array than the result.")
    loaded: NDArray[Any] = array
    return loaded


def _download(connection: Connection, job: str, info: ResultInfo, to: Path | None) -> NDArray[Any]:
    dtype = numpy.dtype(info.dtype).newbyteorder("<")
    if dtype.itemsize * int(numpy.prod(info.shape, dtype=object)) != info.bytes:
        raise BadReply("The result's size does not fit its shape.")
    if to is None:
        array = numpy.empty(info.shape, dtype)
        _fill(connection, job, array.reshape(-1).view(numpy.uint8).data, 0, _nothing)
        return array
    return _into_file(connection, job, info, dtype, to)


def _into_file(
    connection: Connection, job: str, info: ResultInfo, dtype: numpy.dtype[Any], to: Path
) -> NDArray[Any]:
    """Download into `to`; until it is whole it is called `to.part`, beside it how far it is."""
    if to.exists():
        raise OutputExists(f"{to} exists already; choose another name or remove it.")
    part, mark = to.with_name(f"{to.name}.part"), to.with_name(f"{to.name}.part.at")
    done = _resumable(part, mark, job)
    if done is None:
        _reserve(part, info, dtype)
        done = 0
    if info.bytes:
        array = numpy.load(part, mmap_mode="r+", allow_pickle=False)
        buffer = array.reshape(-1).view(numpy.uint8).data

        def keep(received: int) -> None:
            array.flush()
            mark.write_text(f"{job} {received}")

        _fill(connection, job, buffer, done, keep)
        array.flush()
    part.replace(to)
    mark.unlink(missing_ok=True)
    return _mapped_file(to, empty=info.bytes == 0)


def _reserve(part: Path, info: ResultInfo, dtype: numpy.dtype[Any]) -> None:
    """Make the file at its full size, so that a full disk shows now and not half-way."""
    try:
        with part.open("wb") as file:
            header = {
                "descr": numpy.lib.format.dtype_to_descr(dtype),
                "fortran_order": False,
                "shape": tuple(info.shape),
            }
            numpy.lib.format.write_array_header_1_0(file, header)
            file.flush()
            if info.bytes and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), file.tell(), info.bytes)
            file.truncate(file.tell() + info.bytes)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DiskFull(
            f"There is no room for {words.size(info.bytes)} at {part.parent}: {error.strerror}."
        ) from None


def _resumable(part: Path, mark: Path, job: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        owner, done = mark.read_text().split()
        if owner == job and part.exists():
            return int(done)
    return None


def _mapped_file(path: Path, *, empty: bool) -> NDArray[Any]:
    loaded: NDArray[Any] = numpy.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
    return loaded


def _fill(
    connection: Connection, job: str, buffer: memoryview, done: int, keep: Callable[[int], None]
) -> None:
    """Read the result's bytes from `done` on; `keep` is told of each piece that is there."""
    path, backoff = f"/v1/jobs/{job}/result/data", Backoff(first=0.2, longest=5.0)
    while done < len(buffer):
        piece = buffer[done : done + PIECE_BYTES]
        count = connection.patient(partial(_read, path=path, piece=piece, offset=done))
        done += count
        if count:
            backoff.succeeded()
            keep(done)
            continue
        if backoff.failures == ATTEMPTS:
            raise Unreachable("The download broke off several times; run the line again to go on.")
        time.sleep(backoff.failed())


def _read(client: HttpClient, path: str, piece: memoryview, offset: int) -> int:
    return client.read_into(path, piece, offset=offset)


def _nothing(_received: int) -> None:
    """Downloads into memory keep no mark."""
