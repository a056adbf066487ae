"""Whether a unit is one that this client computes, decided before its inputs are downloaded."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from goblin_client.errors import HandBack
from goblin_wire.blobs import blob_id, digest
from goblin_wire.codec import decode
from goblin_wire.data import Manifest
from goblin_wire.exchange import Lease
from goblin_wire.problems import Problem
from goblin_wire.protocol import MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES
from opgraph.cost import flops
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.tensors import TensorType
from opgraph.validation import Limits

_LIMITS = Limits(file_bytes=MAX_GRAPH_BYTES)


class _Claims(msgspec.Struct):
    """What of a capability concerns us. The lab node checks its signature, not we."""

    lab: str
    lease: str
    unit: str
    manifest: str
    output_bytes: int


@dataclass(frozen=True)
class GraphFacts:
    """What a valid graph asks for."""

    inputs: tuple[tuple[str, TensorType], ...]
    outputs: tuple[TensorType, ...]
    flops: int
    peak_bytes: int


def read_manifest(lease: Lease, body: bytes) -> Manifest:
    """The manifest of the lease. Raises `HandBack` where it is not the one that was promised."""
    claims = _claims(lease)
    if (claims.lab, claims.lease, claims.unit) != (lease.lab.lab, lease.lease, lease.unit):
        raise HandBack("capability_refused", "The capability is not for this lease.")
    if digest(body) != claims.manifest:
        raise HandBack("digest_mismatch", "The manifest is not the one in the capability.")
    try:
        manifest = decode(body, Manifest, limit=MAX_MANIFEST_BYTES)
    except Problem as problem:
        raise HandBack("bad_graph", f"The manifest cannot be read: {problem.detail}") from None
    _compare(lease, claims, manifest)
    return manifest


def _claims(lease: Lease) -> _Claims:
    body = lease.capability.partition(".")[0]
    try:
        raw = base64.urlsafe_b64decode(body.encode("ascii") + b"=" * (-len(body) % 4))
        return msgspec.json.decode(raw, type=_Claims)
    except (binascii.Error, ValueError, RecursionError):
        raise HandBack("capability_refused", "The capability cannot be read.") from None


def _compare(lease: Lease, claims: _Claims, manifest: Manifest) -> None:
    if manifest.unit != lease.unit:
        raise HandBack("bad_graph", "The manifest belongs to another unit.")
    if manifest.flops != lease.flops:
        raise HandBack(
            "cost_mismatch",
            f"The lab states {manifest.flops} operations to us, {lease.flops} to the site.",
        )
    inputs = manifest.graph_bytes + sum(each.bytes for each in manifest.inputs)
    outputs = sum(_type(each.dtype, each.shape).nbytes for each in manifest.outputs)
    stated = (lease.input_bytes, lease.output_bytes, lease.output_bytes, lease.memory)
    if (inputs, outputs, claims.output_bytes, manifest.memory) != stated:
        raise HandBack("bad_graph", "The manifest's sizes are not those of the lease.")


def read_graph(manifest: Manifest, body: bytes) -> GraphFacts:
    """What the graph asks for. Raises `HandBack` where it is damaged or not valid."""
    if blob_id(bytes.fromhex(manifest.key), body) != manifest.graph:
        raise HandBack("digest_mismatch", "The graph arrived damaged.")
    try:
        graph = Graph.from_bytes(body, _LIMITS)
    except GraphError as error:
        raise HandBack("bad_graph", f"The graph is refused: {error}") from None
    return GraphFacts(
        tuple((each.name, each.type) for each in graph.placeholders),
        graph.output_types,
        flops(graph),
        peak_bytes(graph),
    )


def admit(lease: Lease, manifest: Manifest, facts: GraphFacts, memory: int) -> None:
    """Check a unit against what it says of itself and against `memory` (bytes).

    Raises `HandBack` with `bad_graph`, `cost_mismatch` or `memory`.
    """
    named = tuple((each.name, _type(each.dtype, each.shape)) for each in manifest.inputs)
    made = tuple(_type(each.dtype, each.shape) for each in manifest.outputs)
    if named != facts.inputs or made != facts.outputs:
        raise HandBack("bad_graph", "The graph's inputs or outputs are not the manifest's.")
    if any(
        each.bytes != type_.nbytes for each, (_, type_) in zip(manifest.inputs, named, strict=True)
    ):
        raise HandBack("bad_graph", "A blob has not the size of its placeholder.")
    if facts.flops != lease.flops:
        raise HandBack(
            "cost_mismatch", f"The graph has {facts.flops} operations, {lease.flops} were stated."
        )
    needed = max(facts.peak_bytes, lease.memory)
    if needed > memory:
        raise HandBack(
            "memory", f"The unit needs {needed} bytes of memory; {memory} may be used here."
        )


def _type(dtype: str, shape: list[int]) -> TensorType:
    try:
        type_ = TensorType(dtype, tuple(shape))
        type_.nbytes  # noqa: B018 - a dtype that does not exist is noticed here
    except KeyError:
        raise HandBack("bad_graph", f"There is no dtype {dtype}.") from None
    return type_
