"""Headers of `.npy` files, versions 1 to 3, read without trusting them.

Format: numpy.lib.format. Nothing is unpickled; a header is bounded before it is parsed.
"""

from __future__ import annotations

import ast
import re
import struct
import warnings
from io import BytesIO
from typing import Any

import numpy
from numpy.lib import format as npy_format

from goblin_wire.formats.layout import MAX_RANK, Layout, ReadAt, checked_shape, must_fit
from goblin_wire.problems import BadArray, DtypeUnsupported, FileTruncated

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000
"""As numpy's own default."""
_LENGTH_FORMATS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
_DESCRIPTION = re.compile(r"[<>|=]?([a-zA-Z?])([0-9]{0,4})")
_KINDS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
_PYTHON_2_LONG = re.compile(r"(?<=\d)L\b")


def read_layout(read_at: ReadAt, file_size: int) -> Layout:
    """The layout of a `.npy` file of `file_size` bytes.

    Raises `BadArray`, `DtypeUnsupported` or `FileTruncated`.
    """
    text, offset = _header_text(read_at)
    fields = _fields(text)
    layout = Layout(
        _dtype(fields["descr"]), _shape(fields["shape"]), fields["fortran_order"], offset
    )
    must_fit(layout, file_size)
    return layout


def header_bytes(dtype: numpy.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The header of a new C-order file."""
    buffer = BytesIO()
    description = npy_format.dtype_to_descr(dtype)
    npy_format.write_array_header_1_0(
        buffer, {"descr": description, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()


def _header_text(read_at: ReadAt) -> tuple[str, int]:
    start = read_at(0, 12)
    version = (start[6], start[7]) if len(start) >= 10 else None
    if not start.startswith(MAGIC) or version is None:
        raise BadArray("The file is not in the .npy format.")
    if version not in _LENGTH_FORMATS:
        raise BadArray(f"The .npy format version {version[0]}.{version[1]} is not known.")
    form = _LENGTH_FORMATS[version]
    begin = 8 + struct.calcsize(form)
    if len(start) < begin:
        raise FileTruncated("The file ends within its header.")
    (length,) = struct.unpack_from(form, start, 8)
    if length > MAX_HEADER_BYTES:
        raise BadArray(f"The header has {length} bytes, at most {MAX_HEADER_BYTES} are read.")
    raw = read_at(begin, length)
    if len(raw) < length:
        raise FileTruncated("The file ends within its header.")
    return _decoded(raw, version), begin + length


def _decoded(raw: bytes, version: tuple[int, int]) -> str:
    try:
        return raw.decode("utf-8" if version == (3, 0) else "latin-1")
    except UnicodeDecodeError:
        raise BadArray("The header is not valid text.") from None


def _fields(text: str) -> dict[str, Any]:
    fields = _literal(text)
    if fields is None:
        fields = _literal(_PYTHON_2_LONG.sub("", text))
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        raise BadArray("The header does not have the fields of a .npy file.")
    if not isinstance(fields["fortran_order"], bool):
        raise BadArray("The header does not say in which order the elements lie.")
    return fields


def _literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


def _dtype(description: object) -> numpy.dtype[Any]:
    if not isinstance(description, str):
        raise DtypeUnsupported("The file holds records with fields; plain numbers are needed.")
    match = _DESCRIPTION.fullmatch(description)
    if match is None:
        raise BadArray("The header names no element type.")
    kind, size = match[1], match[2]
    if kind == "O":
        raise BadArray("The file holds Python objects, which are never loaded.")
    if kind not in _KINDS or not size or int(size) not in _KINDS[kind]:
        raise DtypeUnsupported(f"Elements of type {description!r} cannot be used.")
    return numpy.dtype(description)


def _shape(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or len(shape) > MAX_RANK:
        raise BadArray("The header names no shape.")
    return checked_shape(shape)
