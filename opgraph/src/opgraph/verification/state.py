"""What a prepared check is made of, and its form as bytes for the lab node's cache."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opgraph.errors import OpgraphError
from opgraph.verification.precision import SINGLE_RANGE, Array, Floats, Precision, sums_in_single
from opgraph.verification.reader import MatrixReader
from opgraph.verification.regions import REGULAR, Regions

_MAGIC = b"gpugoblin check 1\n"
_DIGEST_BYTES = 16
_HEADER = struct.Struct("<I")
_MOST_HEADER_BYTES = 1 << 24


class StateError(OpgraphError):
    """The bytes are not the whole state of a check of this product; prepare it again."""

    def __init__(self, message: str) -> None:
        super().__init__("check_state", message)


@dataclass(frozen=True, eq=False)
class BlockState:
    """The secret vectors of one column block of a product M x K x N and what they must give.

    `weights`: w_j per column of the block; `signs`: columns x vectors, +-1; `projection`: Z,
    M x vectors; `scale`: base_i, M; `factor`: c. A row is accepted while |C_i X - Z_i| <= c base_i
    in every vector. `slice_cuts`: where K is cut, from 0 to K."""

    dtype: np.dtype[Any]
    column_block: int
    generation: int
    columns: tuple[int, int]
    slice_cuts: tuple[int, ...]
    factor: float
    regions: Regions
    weights: Floats
    signs: NDArray[np.int8]
    projection: Floats
    scale: Floats

    @cached_property
    def precision(self) -> Precision:
        """The format of the product."""
        return Precision.of(self.dtype)

    @property
    def terms(self) -> int:
        """K."""
        return self.slice_cuts[-1]

    @cached_property
    def vectors(self) -> Floats:
        """X, columns x vectors: signs times weights, zero on columns that are not covered."""
        covered = np.where(self.regions.columns == REGULAR, self.weights, 0.0)
        product: Floats = self.signs.astype(np.float64) * covered[:, None]
        return product

    @cached_property
    def narrow_vectors(self) -> NDArray[np.float32] | None:
        """X in float32, where sums in float32 are exact enough and their range suffices."""
        single = sums_in_single(self.slice_cuts, self.precision)
        used = self.weights[self.regions.columns == REGULAR]
        if not single or not ((used < SINGLE_RANGE) & (used > 1 / SINGLE_RANGE)).all():
            return None
        return self.vectors.astype(np.float32)

    def must_fit(self, a: MatrixReader, b: MatrixReader) -> None:
        """Raise StateError unless this is the state of a block of a @ b."""
        formats = {Precision.of(a.dtype).dtype, Precision.of(b.dtype).dtype, self.dtype}
        rows, terms = len(self.scale), self.terms
        shapes = a.shape == (rows, terms) and b.shape[0] == terms
        if not shapes or self.columns[1] > b.shape[1] or len(formats) > 1:
            raise StateError("The check was prepared for a product of another shape or dtype.")

    def to_bytes(self) -> bytes:
        """The state with a digest, read by `from_bytes`. About 8 M (vectors + 1) bytes."""
        header = {
            "dtype": self.dtype.name,
            "column_block": self.column_block,
            "generation": self.generation,
            "columns": list(self.columns),
            "slice_cuts": list(self.slice_cuts),
            "factor": self.factor,
            "rows": len(self.scale),
            "vectors": self.signs.shape[1],
        }
        text = json.dumps(header).encode()
        parts = [_MAGIC, _HEADER.pack(len(text)), text]
        parts += [_little(array).tobytes() for array in self._arrays()]
        body = b"".join(parts)
        return body + hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()

    def _arrays(self) -> list[Array]:
        kinds = [self.regions.rows, self.regions.columns]
        return [*kinds, self.weights, self.signs, self.projection, self.scale]

    @classmethod
    def from_bytes(cls, data: bytes) -> BlockState:
        """Read what `to_bytes` wrote. Raises StateError for cut, changed or foreign bytes."""
        body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        if hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest:
            raise StateError("The kept state of the check is damaged.")
        if not body.startswith(_MAGIC):
            raise StateError("The kept state of the check has another version.")
        try:
            return cls._from_body(memoryview(body)[len(_MAGIC) :])
        except (struct.error, ValueError, KeyError, TypeError) as error:
            raise StateError("The kept state of the check can't be read.") from error

    @classmethod
    def _from_body(cls, body: memoryview) -> BlockState:
        (size,) = _HEADER.unpack(body[: _HEADER.size])
        if size > _MOST_HEADER_BYTES:
            raise ValueError("header")
        header = json.loads(bytes(body[_HEADER.size : _HEADER.size + size]))
        first, end = header["columns"]
        arrays = _Arrays(body[_HEADER.size + size :])
        rows, columns, vectors = header["rows"], end - first, header["vectors"]
        state = cls(
            dtype=np.dtype(header["dtype"]),
            column_block=header["column_block"],
            generation=header["generation"],
            columns=(first, end),
            slice_cuts=tuple(header["slice_cuts"]),
            factor=float(header["factor"]),
            regions=Regions(arrays.take("u1", rows), arrays.take("u1", columns)),
            weights=arrays.take("<f8", columns),
            signs=arrays.take("i1", columns * vectors).reshape(columns, vectors),
            projection=arrays.take("<f8", rows * vectors).reshape(rows, vectors),
            scale=arrays.take("<f8", rows),
        )
        arrays.must_be_empty()
        return state


class _Arrays:
    """Arrays that lie one behind the other."""

    def __init__(self, body: memoryview) -> None:
        self._body = body

    def take(self, dtype: str, count: int) -> Array:
        size = np.dtype(dtype).itemsize * count
        array = np.frombuffer(self._body[:size], dtype=dtype, count=count)
        self._body = self._body[size:]
        return array.astype(array.dtype.newbyteorder("="))

    def must_be_empty(self) -> None:
        if self._body:
            raise ValueError("trailing bytes")


def _little(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
