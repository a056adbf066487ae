"""Files of this machine as arrays: the formats that a lab node opens, opened here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_wire.control import OpenArray
from goblin_wire.formats.layout import Layout, raw_layout
from goblin_wire.formats.safetensors import read_tensor
from goblin_wire.formats.zarr_reading import open_folder
from gpugoblin.errors import (
    BadArgument,
    BadArray,
    FileMissing,
    FileUnreadable,
    MemoryTooSmall,
    Problem,
    typed,
)


def asked(
    path: str,
    tensor: str | None,
    shape: Sequence[int] | None,
    dtype: Any,
    order: str,
    offset: int,
) -> OpenArray:
    """What a lab node is asked to open. Raises `BadArgument` for what is no description."""
    if order not in ("C", "F"):
        raise BadArgument(f"order is 'C' (rows first) or 'F', not {order!r}.")
    if (shape is None) != (dtype is None):
        raise BadArgument("Raw numbers need both: shape=(rows, columns) and dtype='float32'.")
    if shape is None and (offset or order != "C"):
        raise BadArgument("offset and order are of raw numbers: give shape and dtype, too.")
    if tensor is not None and shape is not None:
        raise BadArgument("A tensor has its own shape and type; give either tensor or these.")
    if type(offset) is not int or offset < 0:
        raise BadArgument(f"offset is a number of bytes, not {offset!r}.")
    lengths = None if shape is None else [_length(each) for each in shape]
    return OpenArray(
        path=path,
        tensor=tensor,
        shape=lengths,
        dtype=None if dtype is None else _dtype_code(dtype),
        order=order,
        offset=offset,
    )


def read(question: OpenArray) -> tuple[NDArray[Any], str]:
    """The numbers and the name of their type; bfloat16 as its bits in uint16.

    Files are mapped, not read; zarr, whose chunks have to be unpacked, is read whole. Raises
    `FileMissing`, `FileUnreadable`, `BadArray`, `DtypeUnsupported`, `FileTruncated`.
    """
    path = Path(question.path)
    try:
        if question.shape is not None or question.tensor is not None:
            return _mapped(path, question)
        if path.is_dir():
            return _unpacked(path)
        if path.suffix == ".safetensors":
            return _mapped(path, question)
        content = numpy.load(path, mmap_mode="r", allow_pickle=False)
    except Problem as problem:
        raise typed(problem) from None
    except FileNotFoundError:
        raise FileMissing(f"There is no file {path}.") from None
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be opened: {error.strerror or error}.") from None
    except ValueError as error:
        raise BadArray(f"{path} is not an array that can be opened: {error}") from None
    return content, content.dtype.newbyteorder("=").name


def _mapped(path: Path, question: OpenArray) -> tuple[NDArray[Any], str]:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size

        def read_at(offset: int, count: int) -> bytes:
            return os.pread(file.fileno(), count, offset)

        if question.shape is None or question.dtype is None:
            layout = read_tensor(read_at, size, question.tensor)
        else:
            shape = tuple(question.shape)
            layout = raw_layout(shape, question.dtype, question.order, question.offset, size)
        return _map(file, layout), layout.name


def _map(file: Any, layout: Layout) -> NDArray[Any]:
    if layout.nbytes == 0:
        return numpy.empty(layout.shape, layout.dtype)
    content: NDArray[Any] = numpy.memmap(
        file, layout.dtype, "r", layout.offset, layout.shape, "F" if layout.fortran else "C"
    )
    return content


def _unpacked(folder: Path) -> tuple[NDArray[Any], str]:
    array, reader = open_folder(folder)
    try:
        content = numpy.empty(array.shape, array.dtype)
    except MemoryError:
        raise MemoryTooSmall(f"{folder} does not fit into this machine's memory.") from None
    reader.read([0] * len(array.shape), content)
    return content, array.dtype.name


def _length(value: Any) -> int:
    try:
        length = value.__index__()
    except AttributeError:
        raise BadArgument(f"A shape is of whole numbers, not {value!r}.") from None
    if not 0 <= length < 2**53:
        raise BadArgument(f"No axis has the length {length}.")
    return int(length)


def _dtype_code(dtype: Any) -> str:
    """A code with its byte order; what numpy does not know goes as it is, to be refused there."""
    if getattr(dtype, "name", dtype) == "bfloat16":
        return "bfloat16"
    try:
        return str(numpy.dtype(dtype).str).replace("|", "<")[:16]
    except TypeError:
        return str(dtype)[:16]
