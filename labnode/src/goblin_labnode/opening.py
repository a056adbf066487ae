"""How an array is found in what a path names: `.npy`, raw numbers, safetensors, zarr version 3.

All go through the roots: nothing outside them is read, no link is followed.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from msgspec import Struct

from goblin_labnode.files import DataFile, Identity
from goblin_labnode.npy import read_layout
from goblin_labnode.roots import Place, Roots
from goblin_labnode.zarr_folder import ZarrFolder
from goblin_wire.control import OpenArray
from goblin_wire.formats.layout import Layout, raw_layout
from goblin_wire.formats.safetensors import read_tensor
from goblin_wire.formats.zarr_codecs import blosc_is_there, require_unpackers
from goblin_wire.problems import BadArray, BadMessage, DtypeUnsupported

NPY, RAW, SAFETENSORS, ZARR = "npy", "raw", "safetensors", "zarr"


class Form(Struct, omit_defaults=True, frozen=True):
    """What kind of file it is, and which tensor of it. An array of raw numbers is as it was
    described once; the description is its layout."""

    kind: str = NPY
    tensor: str | None = None


class Found(NamedTuple):
    """An array as it lies now."""

    form: Form
    layout: Layout
    identity: Identity


def formats() -> str:
    """What can be opened here, in words."""
    blosc = "blosc" if blosc_is_there() else "not blosc: pip install numcodecs"
    return f".npy, raw numbers, safetensors, zarr version 3 (gzip, zstd, {blosc}, shards)"


def find(roots: Roots, place: Place, asked: OpenArray) -> Found:
    """The array that a message asks for, at a place that exists. Raises `Problem`."""
    return _found(roots, place, _form(roots, place, asked), asked)


def find_again(roots: Roots, place: Place, form: Form, layout: Layout) -> Found:
    """The same array as it lies there now; `layout`: as it was. Raises `Problem`."""
    asked = OpenArray(path=place.path)
    if form.kind == RAW:
        asked.shape, asked.dtype = list(layout.shape), layout.dtype.str.replace("|", "<")
        asked.order, asked.offset = "F" if layout.fortran else "C", layout.offset
    return _found(roots, place, form, asked)


def _found(roots: Roots, place: Place, form: Form, asked: OpenArray) -> Found:
    if form.kind == ZARR:
        folder = ZarrFolder(roots, place)
        require_unpackers(folder.array.chain)
        return Found(form, folder.layout, folder.identity)
    descriptor = roots.open(place)
    try:
        identity = Identity.of(os.fstat(descriptor))
        layout = _layout(descriptor, identity.size, form, asked)
    finally:
        os.close(descriptor)
    if layout.bfloat16:
        raise DtypeUnsupported(
            "The tensor holds bfloat16, of which no products are computed; write it as float32."
        )
    return Found(form, layout, identity)


def open_data(
    roots: Roots, place: Place, form: Form, identity: Identity, name: str
) -> DataFile | ZarrFolder:
    """The file or folder, held open. Whether it is still the same is for `check` to say."""
    if form.kind == ZARR:
        return ZarrFolder(roots, place, identity, name)
    descriptor = roots.open(place)
    return DataFile(descriptor, identity, lambda: roots.stat(place), name)


def _form(roots: Roots, place: Place, asked: OpenArray) -> Form:
    described = asked.shape is not None or asked.dtype is not None
    if described and asked.tensor is not None:
        raise BadMessage("A tensor has its own shape and type; give either `tensor` or these.")
    if described:
        return Form(RAW)
    if stat.S_ISDIR(roots.stat(place).st_mode):
        return Form(ZARR)
    if asked.tensor is not None or place.path.endswith(".safetensors"):
        return Form(SAFETENSORS, asked.tensor)
    return Form(NPY)


def _layout(descriptor: int, size: int, form: Form, asked: OpenArray) -> Layout:
    def read_at(offset: int, count: int) -> bytes:
        return os.pread(descriptor, count, offset)

    if form.kind == SAFETENSORS:
        return read_tensor(read_at, size, form.tensor)
    if form.kind == RAW:
        if asked.shape is None or asked.dtype is None:
            raise BadMessage("Raw numbers need both: shape=(rows, columns) and dtype='float32'.")
        return raw_layout(tuple(asked.shape), asked.dtype, asked.order, asked.offset, size)
    try:
        return read_layout(read_at, size)
    except BadArray as problem:
        raise BadArray(
            f"{problem.detail} Open a file of raw numbers with shape=(rows, columns) and"
            " dtype='float32'."
        ) from None
