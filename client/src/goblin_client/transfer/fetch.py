"""Getting what a unit reads: manifest, graph, then its inputs in the order of their use."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from goblin_client.errors import DISK_FULL, HandBack, Unwanted
from goblin_client.scheduling.events import Admitted, Arrived
from goblin_client.transfer.admission import GraphFacts, admit, read_graph, read_manifest
from goblin_client.transfer.cache import BlobCache, BlobKey, Draft
from goblin_client.transfer.link import LabLinks, authorization
from goblin_wire.data import InputSpec, Manifest
from goblin_wire.exchange import Lease
from goblin_wire.http import HttpClient
from goblin_wire.problems import Unreachable
from goblin_wire.protocol import MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES

GRAPH_PLACE = -1
TELL_S = 2.0
"""A long download is told of this often, so that its lease is seen to move."""
BREAKS = 5
"""So often in one blob a broken connection is taken up again where it broke."""


@dataclass(frozen=True)
class Prepared:
    """An admitted unit: its manifest and where its bytes lie on this disk."""

    manifest: Manifest
    graph: Path
    inputs: tuple[Path, ...]


class Fetcher:
    """Fetches units from one lab, in one thread."""

    def __init__(self, cache: BlobCache, links: LabLinks, is_held: Callable[[str], bool]) -> None:
        self._cache = cache
        self._links = links
        self._is_held = is_held
        self._facts: dict[str, GraphFacts] = {}

    def prepare(self, lease: Lease, memory: int) -> Prepared:
        """Admit the unit. Raises `HandBack`, or a `Problem` where the lab does not answer."""
        client = self._links.client(lease.lab)
        path = f"/v1/leases/{lease.lease}"
        body = client.get_bytes(
            f"{path}/manifest", headers=authorization(lease), limit=MAX_MANIFEST_BYTES
        )
        manifest = read_manifest(lease, body)
        if manifest.graph_bytes > MAX_GRAPH_BYTES:
            raise HandBack("bad_graph", f"The graph is larger than {MAX_GRAPH_BYTES} bytes.")
        graph = BlobKey(lease.lab.lab, manifest.graph)
        self._cache.pin(graph, (lease.lease, GRAPH_PLACE))
        facts = self._graph(client, lease, manifest, graph)
        admit(lease, manifest, facts, memory)
        self._require_room(manifest)
        keys = [BlobKey(lease.lab.lab, each.blob) for each in manifest.inputs]
        return Prepared(
            manifest, self._cache.path(graph), tuple(self._cache.path(key) for key in keys)
        )

    def _require_room(self, manifest: Manifest) -> None:
        largest = max((each.bytes for each in manifest.inputs), default=0)
        if largest > self._cache.cap:
            raise HandBack(
                DISK_FULL,
                f"An input has {largest} bytes; {self._cache.cap} of this disk may be used.",
            )

    def _graph(
        self, client: HttpClient, lease: Lease, manifest: Manifest, key: BlobKey
    ) -> GraphFacts:
        here = self._cache.has(key, manifest.graph_bytes, bytes.fromhex(manifest.key))
        if not (here and key.blob in self._facts):
            body = (
                self._cache.path(key).read_bytes()
                if here
                else self._get_graph(client, lease, manifest, key)
            )
            if len(self._facts) > 256:
                self._facts.clear()
            self._facts[key.blob] = read_graph(manifest, body)
        return self._facts[key.blob]

    def _get_graph(
        self, client: HttpClient, lease: Lease, manifest: Manifest, key: BlobKey
    ) -> bytes:
        body = client.get_bytes(
            f"/v1/leases/{lease.lease}/blobs/{key.blob}",
            headers=authorization(lease),
            limit=manifest.graph_bytes,
        )
        if len(body) != manifest.graph_bytes:
            raise HandBack("bad_graph", "The graph has not the announced size.")
        secret = bytes.fromhex(manifest.key)
        with self._cache.draft(key, len(body), secret) as draft:
            draft.write(body)
        return body

    def inputs(
        self, lease: Lease, prepared: Prepared, tell: Callable[[Admitted | Arrived], None]
    ) -> None:
        """Get the inputs, telling of each. Raises a `Problem`, `Unwanted`, or OSError."""
        specs = prepared.manifest.inputs
        moved = prepared.manifest.graph_bytes
        tell(Admitted(lease.lease, len(specs), moved))

        def tell_part(place: int, before: int, count: int) -> None:
            tell(Arrived(lease.lease, place, before + count))

        for place, spec in enumerate(specs):
            key = BlobKey(lease.lab.lab, spec.blob)
            self._cache.pin(key, (lease.lease, place))
            secret = bytes.fromhex(prepared.manifest.key)
            if not self._cache.has(key, spec.bytes, secret):
                draft = self._cache.draft(
                    key, spec.bytes, secret, (lease.lease, place), self._is_held
                )
                self._get_blob(lease, spec, draft, partial(tell_part, place, moved))
            moved += spec.bytes
            tell(Arrived(lease.lease, place + 1, moved))

    def _get_blob(
        self,
        lease: Lease,
        spec: InputSpec,
        room: AbstractContextManager[Draft],
        moved: Callable[[int], None],
    ) -> None:
        with room as draft:
            breaks = 0
            while draft.received < spec.bytes:
                before = draft.received
                self._get_rest(lease, spec, draft, moved)
                if draft.received == before or breaks == BREAKS:
                    raise Unreachable("The connection to the lab node broke during a download.")
                breaks += 1

    def _get_rest(
        self, lease: Lease, spec: InputSpec, draft: Draft, moved: Callable[[int], None]
    ) -> None:
        client = self._links.client(lease.lab)
        path = f"/v1/leases/{lease.lease}/blobs/{spec.blob}"
        arriving = client.read_pieces(
            path,
            spec.bytes - draft.received,
            offset=draft.received,
            headers=authorization(lease),
        )
        told = time.monotonic()
        for piece in arriving:
            draft.write(piece)
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                moved(draft.received)
            if not self._is_held(lease.lease):
                raise Unwanted
