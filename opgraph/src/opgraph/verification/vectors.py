"""The secret vectors of a check, by counter from the secret of the run.

The same secret, column block and generation give the same bits on every machine: a replay repairs
the same rows."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

SECRET_BYTES = 32


class Draws:
    """The random choices of one column block in one generation."""

    def __init__(self, secret: bytes, column_block: int, generation: int) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"The secret of a run has {SECRET_BYTES} bytes, not {len(secret)}.")
        self._secret = secret
        self._place = f"{generation}/{column_block}"

    def signs(self, columns: int, vectors: int) -> NDArray[np.int8]:
        """Entries of +-1, columns x vectors."""
        count = columns * vectors
        words = self._stream("signs", -(-count // 64))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:count]
        return (1 - 2 * bits.astype(np.int8)).reshape(columns, vectors)

    def words(self, columns: int, vectors: int) -> NDArray[np.uint64]:
        """Entries uniform in Z/2^64, columns x vectors."""
        return self._stream("words", columns * vectors).reshape(columns, vectors)

    def choice(self, purpose: str, population: int, size: int) -> NDArray[np.int64]:
        """At most `size` different indices below `population`, ascending."""
        if population <= size:
            return np.arange(population)
        words = self._stream(purpose, 4 * size)
        # The remainder favours small indices by less than population / 2^64.
        picks = (words % np.uint64(population)).astype(np.int64)
        _, first = np.unique(picks, return_index=True)
        return np.sort(picks[np.sort(first)[:size]])

    def _stream(self, purpose: str, words: int) -> NDArray[np.uint64]:
        text = f"gpugoblin check {purpose} {self._place}".encode()
        key = hashlib.blake2b(text, key=self._secret, digest_size=16).digest()
        return np.random.Philox(key=int.from_bytes(key, "little")).random_raw(words)
