"""A volunteer that is driven by hand: it speaks the real protocol and can be made to lie."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goblin_wire.addresses import resolve_endpoint
from goblin_wire.blobs import blob_id
from goblin_wire.data import Manifest, UploadStatus
from goblin_wire.exchange import Done, ExchangeReply, ExchangeRequest, Holding, Lease, Want
from goblin_wire.http import HttpClient
from goblin_wire.protocol import CAPABILITY_SCHEME, DIGEST_HEADER, MAX_MANIFEST_BYTES, PROTOCOL
from goblin_wire.volunteer import VolunteerStatus
from opgraph.executor import execute
from opgraph.graph import Graph

Tile = NDArray[Any]


class ScriptedVolunteer:
    """One host with one device `cpu`. Nothing happens unless a method is called."""

    def __init__(self, site: str, token: str, *, memory: int = 2**31) -> None:
        self.site = HttpClient(site, authorization=f"Bearer {token}")
        self.host = secrets.token_hex(16)
        self.seq = 0
        self.memory = memory
        self.settled: dict[str, Any] = {}
        self.ended: dict[str, Any] = {}
        self._manifests: dict[str, Manifest] = {}

    def exchange(self, *, units: int = 0, **parts: Any) -> ExchangeReply:
        """One exchange; `parts` are fields of the request (`holding`, `done`, ...)."""
        self.seq += 1
        request = ExchangeRequest(
            protocol=PROTOCOL,
            host=self.host,
            seq=self.seq,
            nonce=secrets.token_hex(8),
            version="scripted",
            want=[self._want(units)] if units else [],
            **parts,
        )
        reply = self.site.call("POST", "/api/v1/exchange", request, ExchangeReply)
        self.settled |= {settled.lease: settled for settled in reply.settled}
        self.ended |= {ended.lease: ended for ended in reply.ended}
        return reply

    def _want(self, units: int) -> Want:
        return Want(
            device="cpu",
            units=units,
            seconds=3600.0,
            memory=self.memory,
            catalogue=1,
            device_class="scripted",
            flops_per_s=5e10,
        )

    def status(self) -> VolunteerStatus:
        """What the site tells the account about its machines and refused results."""
        return self.site.call("GET", "/api/v1/volunteer/status", None, VolunteerStatus)

    def hold(self, *leases: Lease, progress: float = 0.5) -> ExchangeReply:
        return self.exchange(holding=[Holding(lease=x.lease, progress=progress) for x in leases])

    def lab(self, lease: Lease) -> HttpClient:
        """The lab node's data listener, with the lease's capability."""
        endpoint = resolve_endpoint(
            lease.lab.endpoint, allow_private=True, certificate=lease.lab.certificate
        )
        return HttpClient.for_endpoint(
            endpoint,
            certificate=lease.lab.certificate,
            authorization=f"{CAPABILITY_SCHEME} {lease.capability}",
        )

    def manifest(self, lease: Lease) -> Manifest:
        """What the unit reads and writes; asked for once, it can't be had after the job's end."""
        if lease.lease not in self._manifests:
            path = f"/v1/leases/{lease.lease}/manifest"
            self._manifests[lease.lease] = self.lab(lease).call(
                "GET", path, None, Manifest, limit=MAX_MANIFEST_BYTES
            )
        return self._manifests[lease.lease]

    def graph(self, lease: Lease, manifest: Manifest) -> Graph:
        path = f"/v1/leases/{lease.lease}/blobs/{manifest.graph}"
        return Graph.from_bytes(self.lab(lease).get_bytes(path))

    def inputs(self, lease: Lease, manifest: Manifest) -> dict[str, Tile]:
        """All panels of a unit, by placeholder."""
        lab = self.lab(lease)
        arrays = {}
        for spec in manifest.inputs:
            array = np.empty(spec.shape, dtype=np.dtype(spec.dtype).newbyteorder("<"))
            view = memoryview(array.reshape(-1)).cast("B")
            assert lab.read_into(f"/v1/leases/{lease.lease}/blobs/{spec.blob}", view) == spec.bytes
            arrays[spec.name] = array
        return arrays

    def compute(self, lease: Lease, inputs: Mapping[str, Tile] | None = None) -> Tile:
        """The honest tile, or that of other `inputs`."""
        manifest = self.manifest(lease)
        arrays = self.inputs(lease, manifest) if inputs is None else dict(inputs)
        return np.asarray(execute(self.graph(lease, manifest), arrays, threads=1)[0])

    def upload(
        self, lease: Lease, content: Any, *, offset: int = 0, digest: str = ""
    ) -> UploadStatus:
        """Send bytes as the lease's only output, from `offset` on."""
        raw = memoryview(content).cast("B")
        announced = digest or blob_id(bytes.fromhex(self.manifest(lease).key), raw)
        path = f"/v1/leases/{lease.lease}/outputs/0?offset={offset}"
        return self.lab(lease).put(
            path, raw[offset:], UploadStatus, headers={DIGEST_HEADER: announced}
        )

    def report(self, lease: Lease, content: Any) -> ExchangeReply:
        """Say to the site that the lease is done with these bytes."""
        raw = memoryview(content).cast("B")
        key = bytes.fromhex(self.manifest(lease).key)
        done = Done(lease=lease.lease, outputs=[blob_id(key, raw)], bytes=len(raw), seconds=0.1)
        return self.exchange(done=[done])

    def deliver(self, lease: Lease, tile: Tile) -> ExchangeReply:
        """Upload a tile and report it."""
        content = np.ascontiguousarray(tile)
        self.upload(lease, content)
        return self.report(lease, content)
