"""Panels as they travel: read from their file piece by piece, never held whole.

Reading a piece again costs less than keeping it: the system's file cache holds what is hot, and
the few pieces that are under way use the same memory again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from goblin_labnode.buffers import Buffers
from goblin_labnode.matrices import Matrix
from goblin_wire.blobs import BlobHasher
from goblin_wire.protocol import MIB
from opgraph.partition.product import Panel

PIECE_BYTES = 2 * MIB
"""So small that it is hashed and sent while it is in the processor's cache."""


class PanelKey(NamedTuple):
    run: str
    operand: str
    block: int
    slice: int


def panel_key(run: str, panel: Panel) -> PanelKey:
    return PanelKey(run, panel.operand, panel.block, panel.slice)


def panel_pieces(
    matrix: Matrix, panel: Panel, buffers: Buffers, span: tuple[int, int] | None = None
) -> Iterator[memoryview]:
    """The bytes `span` (all: None) of a panel in C order, native; each piece is the reader's own.

    Raises `FileChanged`, `FileTruncated`, `FileMissing` or `StorageFailed` instead of yielding
    a piece of a file that is not what it was.
    """
    (row, end), (c0, c1) = panel.rows, panel.columns
    width = (c1 - c0) * matrix.dtype.itemsize
    first, last = span or (0, panel.nbytes)
    height = max(1, PIECE_BYTES // max(1, width))
    skip = first - first // width * width if width else 0
    row += first // width if width else 0
    left = last - first
    while left > 0:
        beyond = min(row + height, end)
        values = buffers.array((beyond - row, c1 - c0), matrix.dtype)
        matrix.read(row, beyond, c0, c1, out=values)
        matrix.check()
        piece = values.data.cast("B")[skip : skip + left]
        yield piece
        row, skip, left = beyond, 0, left - len(piece)


def panel_blob(matrix: Matrix, panel: Panel, buffers: Buffers, key: bytes) -> str:
    """The id of the panel's content now, under the lab's key. Raises as `panel_pieces` does."""
    hasher = BlobHasher(key)
    for piece in panel_pieces(matrix, panel, buffers):
        hasher.update(piece)
    return hasher.hexdigest()
