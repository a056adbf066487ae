"""Headers of `.safetensors` files, read without trusting them.

Format: 8 bytes little-endian with the length of a JSON object, that object (name -> dtype, shape,
data_offsets), then the numbers: C order, little-endian (github.com/huggingface/safetensors). The
library is not used: it maps the file by its path, and we open no path that was not checked.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy

from goblin_wire.formats.layout import Layout, ReadAt, checked_shape
from goblin_wire.problems import BadArray, BadMessage, DtypeUnsupported, FileTruncated

MAX_HEADER_BYTES = 8 * 1024 * 1024
"""About 60,000 tensors. The format allows 100 MB; its largest users have a tenth of a megabyte."""
NAMES_SHOWN = 40
_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "BF16": "<u2",
}
Entry = dict[str, Any]


def read_tensor(read_at: ReadAt, file_size: int, name: str | None) -> Layout:
    """The layout of one tensor; without a name, of the only one.

    Raises `BadArray` for what is no such file, `BadMessage` with the names that are there where
    `name` is none of them or is needed, `DtypeUnsupported`, or `FileTruncated`.
    """
    entries, begin = _entries(read_at)
    if name is None and len(entries) == 1:
        name = next(iter(entries))
    if name is None or name not in entries:
        raise BadMessage(_listing(name, list(entries)))
    return _layout(entries[name], begin, file_size)


def _entries(read_at: ReadAt) -> tuple[dict[str, Entry], int]:
    start = read_at(0, 8)
    if len(start) < 8:
        raise BadArray("The file is not in the safetensors format: it has no header.")
    (length,) = struct.unpack("<Q", start)
    if length > MAX_HEADER_BYTES:
        raise BadArray(
            f"The file is not in the safetensors format, or its header of {length} bytes is larger"
            f" than the {MAX_HEADER_BYTES} that are read."
        )
    raw = read_at(8, length)
    if len(raw) < length:
        raise FileTruncated("The file ends within its header.")
    found = _parsed(raw)
    found.pop("__metadata__", None)
    if not all(isinstance(entry, dict) for entry in found.values()):
        raise BadArray("The header of the safetensors file does not describe tensors.")
    return found, 8 + length


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadArray("The header of the safetensors file is not valid JSON.") from None
    if not isinstance(found, dict):
        raise BadArray("The header of the safetensors file is not a JSON object.")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _layout(entry: Entry, begin: int, file_size: int) -> Layout:
    if set(entry) != {"dtype", "shape", "data_offsets"}:
        raise BadArray("The header does not say where the tensor lies.")
    kind = entry["dtype"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise DtypeUnsupported(f"Elements of type {str(kind)[:20]!r} cannot be used.")
    first, beyond = _offsets(entry["data_offsets"])
    shape = checked_shape(entry["shape"])
    layout = Layout(numpy.dtype(_DTYPES[kind]), shape, False, begin + first, kind == "BF16")
    if beyond - first != layout.nbytes:
        raise BadArray("The header gives the tensor more or fewer bytes than its shape has.")
    if begin + beyond > file_size:
        raise FileTruncated(
            f"The header promises numbers up to byte {begin + beyond}, the file has {file_size}."
        )
    return layout


def _offsets(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or any(type(x) is not int for x in value):
        raise BadArray("The header does not say where the tensor lies.")
    first, beyond = value
    if not 0 <= first <= beyond < 2**63:
        raise BadArray("The header says that the tensor lies at an impossible place.")
    return first, beyond


def _listing(name: str | None, names: list[str]) -> str:
    shown = ", ".join(repr(each[:100]) for each in names[:NAMES_SHOWN])
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    missing = "Say which tensor" if name is None else f"There is no tensor {name[:100]!r}"
    return f"{missing} (tensor='...'). The file has: {shown or 'none'}{more}."
