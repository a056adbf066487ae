"""What supervisor and computing process say over two pipes: a length, then MessagePack."""

from __future__ import annotations

import struct
from typing import IO, TypeAlias

import msgspec

_LENGTH = struct.Struct("<I")
MAX_MESSAGE = 16 * 1024 * 1024


class _Message(msgspec.Struct, kw_only=True, tag=True):
    pass


class ArrayFile(msgspec.Struct, kw_only=True):
    """An array in a file: C order, little-endian, from the first byte on."""

    path: str
    dtype: str
    shape: list[int]


class Begin(_Message):
    """Compute a unit; the first `blobs` of `inputs` are here. Outputs are files to be made."""

    lease: str
    graph: str
    """Path of the graph's canonical bytes."""
    key: str
    """Key of the digests of the outputs."""
    inputs: list[ArrayFile]
    outputs: list[ArrayFile]
    blobs: int


class Feed(_Message):
    """The first `blobs` inputs are here."""

    lease: str
    blobs: int


class Cancel(_Message):
    lease: str


Order: TypeAlias = Begin | Feed | Cancel


class Ready(_Message):
    """The device counts."""

    device_class: str
    flops_per_s: float
    memory: int


class Refused(_Message):
    """The device does not count."""

    detail: str


class Progress(_Message):
    lease: str
    share: float


class Released(_Message):
    """The unit needs its `index`-th input no longer."""

    lease: str
    index: int


class Awaiting(_Message):
    """The computation stands still until the inputs up to this one are here."""

    lease: str
    index: int


class Finished(_Message):
    lease: str
    digests: list[str]
    sizes: list[int]
    seconds: float


class Failed(_Message):
    lease: str
    code: str
    detail: str


Report: TypeAlias = Ready | Refused | Progress | Released | Awaiting | Finished | Failed

_orders = msgspec.msgpack.Decoder(Order)
_reports = msgspec.msgpack.Decoder(Report)
_encoder = msgspec.msgpack.Encoder()


def send(pipe: IO[bytes], message: Order | Report) -> None:
    body = _encoder.encode(message)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def next_order(pipe: IO[bytes]) -> Order | None:
    """The next order, or none when the supervisor is gone."""
    body = _frame(pipe)
    return None if body is None else _orders.decode(body)


def next_report(pipe: IO[bytes]) -> Report | None:
    """The next report, or none when the process is gone."""
    body = _frame(pipe)
    return None if body is None else _reports.decode(body)


def _frame(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_MESSAGE:
        return None
    body = pipe.read(size)
    return body if len(body) == size else None
