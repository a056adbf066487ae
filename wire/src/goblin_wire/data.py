"""What a client and a lab node's data listener say to each other.

    GET  /v1/probe?nonce=HEX                     ProbeReply            (no capability)
    GET  /v1/leases/LEASE/manifest               Manifest
    GET  /v1/leases/LEASE/blobs/BLOB             bytes, ranges
    GET  /v1/leases/LEASE/outputs/INDEX          UploadStatus
    PUT  /v1/leases/LEASE/outputs/INDEX?offset=N bytes -> UploadStatus

All but the probe carry `Authorization: Goblin CAPABILITY`; a PUT carries `Goblin-Digest`, the
keyed digest of the whole output, and `Content-Length`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from goblin_wire.fields import Count, Digest, Flops, Id, Size

Shape = Annotated[list[Count], Meta(max_length=8)]
Dtype = Annotated[str, Meta(pattern=r"^[a-z0-9]{1,16}(?!\n)$")]
Secret = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?!\n)$")]


class TensorSpec(Struct, kw_only=True):
    dtype: Dtype
    shape: Shape


class InputSpec(Struct, kw_only=True):
    """A placeholder and the blob that fills it: C order, little-endian."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9]{0,15}(?!\n)$")]
    blob: Digest
    bytes: Size
    dtype: Dtype
    shape: Shape


class Manifest(Struct, kw_only=True):
    """Everything that a unit reads and writes. Its BLAKE3 digest stands in the capability."""

    unit: Id
    key: Secret
    """The key of the lab's blob ids; it is of no use without the blobs."""
    graph: Digest
    graph_bytes: Size
    flops: Flops
    memory: Size
    inputs: Annotated[list[InputSpec], Meta(max_length=16384)]
    outputs: Annotated[list[TensorSpec], Meta(max_length=64)]


class UploadStatus(Struct, kw_only=True, omit_defaults=True):
    received: Size
    bytes: Size
    complete: bool = False


class ProbeReply(Struct, kw_only=True):
    """`signature`: the lab's Ed25519 signature over `probe_bytes(lab, nonce)`, hexadecimal."""

    lab: Id
    nonce: str
    signature: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}(?!\n)$")]
    version: str = ""


def probe_bytes(lab: str, nonce: str) -> bytes:
    """The bytes that a lab node signs to prove that an endpoint is its own."""
    return f"goblin-probe:{lab}:{nonce}".encode("ascii")
