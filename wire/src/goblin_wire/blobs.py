"""Ids of blobs: BLAKE3, keyed with a secret of the lab.

A plain digest of few tokens or of a block of zeros could be guessed by whoever sees it.
"""

from __future__ import annotations

from typing import Any

from blake3 import blake3

KEY_BYTES = 32


class BlobHasher:
    """Digest of a blob that arrives in pieces."""

    def __init__(self, key: bytes | None = None) -> None:
        self._hash = blake3() if key is None else blake3(key=key)

    def update(self, piece: Any) -> None:
        """Take the next bytes: any contiguous buffer. Releases the interpreter lock."""
        self._hash.update(_bytes(piece))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def blob_id(key: bytes, content: Any) -> str:
    """The id of `content` (a contiguous buffer) under the lab's key (32 bytes)."""
    return blake3(_bytes(content), key=key).hexdigest()


def digest(content: Any) -> str:
    """Plain BLAKE3 of `content`: for manifests, which hold keyed ids only."""
    return blake3(_bytes(content)).hexdigest()


def derive_id(key: bytes, *parts: str) -> str:
    """A 128-bit id in hexadecimal from a key and texts; parts can't run into each other."""
    hasher = blake3(key=key)
    for part in parts:
        encoded = part.encode()
        hasher.update(len(encoded).to_bytes(8, "little"))
        hasher.update(encoded)
    return hasher.hexdigest(length=16)


def array_hasher(dtype: str, shape: tuple[int, ...]) -> BlobHasher:
    """`array_digest` for content that arrives in pieces: C order, little-endian."""
    hasher = BlobHasher()
    hasher.update(f"{dtype}{[int(length) for length in shape]}".encode("ascii"))
    return hasher


def array_digest(dtype: str, shape: tuple[int, ...], content: Any) -> str:
    """Digest of an array: its dtype, shape and C-order little-endian bytes."""
    hasher = array_hasher(dtype, shape)
    hasher.update(content)
    return hasher.hexdigest()


def _bytes(content: Any) -> Any:
    """The buffer as plain bytes: BLAKE3 takes no others (an array of floats is not)."""
    if isinstance(content, bytes | bytearray):
        return content
    view = memoryview(content)
    return view.cast("B") if view.nbytes else b""
