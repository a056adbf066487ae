"""Ids of blobs and arrays."""

from __future__ import annotations

import numpy as np
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.blobs import BlobHasher, array_digest, blob_id, derive_id, digest

KEY, OTHER = bytes(32), bytes(31) + b"\x01"


@given(st.lists(st.binary(max_size=100), max_size=6))
def test_pieces_and_the_whole_have_one_id(pieces: list[bytes]) -> None:
    hasher = BlobHasher(KEY)
    for piece in pieces:
        hasher.update(piece)
    whole = b"".join(pieces)
    assert hasher.hexdigest() == blob_id(KEY, whole) == blake3(whole, key=KEY).hexdigest()


def test_the_key_matters() -> None:
    zeros = bytes(1000)
    assert len({blob_id(KEY, zeros), blob_id(OTHER, zeros), digest(zeros)}) == 3
    plain = BlobHasher()
    plain.update(zeros)
    assert plain.hexdigest() == digest(zeros)


def test_arrays_count_by_their_bytes() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert blob_id(KEY, array) == blob_id(KEY, array.tobytes())
    assert digest(np.zeros((0, 3), np.float32)) == digest(b"")
    hasher = BlobHasher(KEY)
    hasher.update(array.data)
    assert hasher.hexdigest() == blob_id(KEY, array)


def test_an_array_is_more_than_its_bytes() -> None:
    content = bytes(96)
    found = {
        array_digest("float32", (24,), content),
        array_digest("float32", (4, 6), content),
        array_digest("float32", (6, 4), content),
        array_digest("float64", (12,), content),
    }
    assert len(found) == 4


def test_lengths_of_any_integer_type_are_the_same() -> None:
    shape = tuple(np.array([4, 6]))
    assert array_digest("float32", shape, bytes(96)) == array_digest("float32", (4, 6), bytes(96))


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_parts_of_a_derived_id_do_not_run_into_each_other(a: list[str], b: list[str]) -> None:
    assert (derive_id(KEY, *a) == derive_id(KEY, *b)) == (a == b)
    assert len(derive_id(KEY, *a)) == 32
    assert derive_id(KEY, *a) != derive_id(OTHER, *a)
