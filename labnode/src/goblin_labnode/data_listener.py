"""The data listener: volunteers read inputs and send results. See `goblin_wire.data`."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goblin_labnode import __version__
from goblin_labnode.bodies import Extent, PiecesResponse
from goblin_labnode.capabilities import Gate
from goblin_labnode.lease_uploads import Upload
from goblin_labnode.node import Node
from goblin_labnode.phases import JUDGED, LeasePhase, Phase, UnitPhase
from goblin_labnode.runs import Run
from goblin_labnode.service import Service
from goblin_labnode.store.units import LeaseRecord, store_lease
from goblin_labnode.web import (
    application,
    content_length,
    in_thread,
    integer,
    message_response,
    pieces,
)
from goblin_wire.capability import Claims
from goblin_wire.data import ProbeReply, UploadStatus, probe_bytes
from goblin_wire.problems import (
    BadMessage,
    CapabilityForeign,
    DiskFull,
    LeaseEnded,
    NotFound,
    Problem,
    StorageFailed,
    Unavailable,
    UnknownBlob,
    UnknownUnit,
)
from goblin_wire.protocol import DIGEST_HEADER
from goblin_wire.states import LeaseRole
from opgraph.partition.product import Panel

_NONCE = re.compile(r"[0-9a-f]{16,64}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
PAUSED_RETRY_S = 10.0


@dataclass(frozen=True)
class Visit:
    """A request that a capability allows: its run, unit and lease."""

    run: Run
    number: int
    lease: LeaseRecord


class DataListener:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._node: Node = service.node
        self._gate = Gate(self._node.config.lab, self._node.site)
        self._signer = self._node.secrets.signer()

    def app(self) -> ASGIApp:
        lease = "/v1/leases/{lease}"
        routes = [
            Route("/v1/probe", self.probe),
            Route(f"{lease}/manifest", self.manifest),
            Route(f"{lease}/blobs/{{blob}}", self.blob),
            Route(f"{lease}/outputs/{{index}}", self.output, methods=["GET", "PUT"]),
        ]
        return application(list(routes), lambda app: app)

    async def probe(self, request: Request) -> Response:
        """Sign a nonce: proof that this endpoint is the lab's own."""
        nonce = request.query_params.get("nonce", "")
        if not _NONCE.fullmatch(nonce):
            raise BadMessage("The nonce must be 16 to 64 hexadecimal digits.")
        lab = self._node.config.lab
        signature = self._signer.sign(probe_bytes(lab, nonce)).hex()
        return message_response(
            ProbeReply(lab=lab, nonce=nonce, signature=signature, version=__version__)
        )

    async def manifest(self, request: Request) -> Response:
        visit = self._visit(request)
        found = visit.run.manifest(visit.number)
        return Response(found.content, media_type="application/json")

    async def blob(self, request: Request) -> Response:
        visit = self._visit(request)
        blob = request.path_params["blob"]
        manifest = visit.run.manifest(visit.number)
        if blob == manifest.graph.blob:
            content = manifest.graph.content
            extent = Extent.asked(request, len(content))
            body: Iterator[memoryview] = iter([memoryview(content)[extent.first : extent.end]])
        elif panel := manifest.panels.get(blob):
            extent = Extent.asked(request, panel.nbytes)
            body = self._read(visit.run, panel, extent)
        else:
            raise UnknownBlob
        visit.run.record.bytes_down += extent.length
        return await PiecesResponse.begin(body, extent)

    async def output(self, request: Request) -> Response:
        if request.path_params["index"] != "0":
            raise NotFound("The unit has one output, number 0.")
        if request.method == "PUT":
            return message_response(await self._receive(request))
        return message_response(await in_thread(self._status, request))

    # --- reading ---------------------------------------------------------------------------------
    def _read(self, run: Run, panel: Panel, extent: Extent) -> Iterator[memoryview]:
        """What fails here also pauses the job, before or amid an answer."""
        try:
            yield from run.panel_pieces(panel, (extent.first, extent.end))
        except LeaseEnded:
            raise
        except Problem as problem:
            self._service.jobs.pause(run, problem)
            raise _paused() from None

    # --- who asks -------------------------------------------------------------------------------
    def _visit(self, request: Request) -> Visit:
        """Raises the `Problem` that keeps this request out."""
        lease = request.path_params["lease"]
        token, claims = self._gate.claims(request.headers.get("authorization"), lease)
        run = self._node.run_of_unit(claims.unit)
        if run is None:
            raise self._gone(claims)
        number = run.numbers[claims.unit]
        self._demand_unit(run, number, claims)
        record = self._lease(run, claims, token)
        if record.state is LeasePhase.ENDED or record.state in JUDGED:
            raise LeaseEnded(record.reason or None)
        self._demand_unverified(run, number)
        if run.record.phase is Phase.PAUSED:
            raise _paused()
        if run.record.phase is not Phase.ACTIVE:
            raise LeaseEnded("The job is over; nothing more is needed for it.")
        return Visit(run, number, record)

    def _gone(self, claims: Claims) -> Problem:
        row = self._node.database.row("SELECT 1 FROM units WHERE unit = ?", claims.unit)
        return UnknownUnit() if row is None else LeaseEnded("The job is over.")

    def _demand_unit(self, run: Run, number: int, claims: Claims) -> None:
        if run.units[number].state is UnitPhase.PLANNED or claims.role is not LeaseRole.COMPUTE:
            raise CapabilityForeign
        manifest = run.manifest(number)
        if claims.manifest != manifest.digest or claims.output_bytes != manifest.output_bytes:
            raise CapabilityForeign("The capability is for another state of this unit.")

    def _lease(self, run: Run, claims: Claims, token: str) -> LeaseRecord:
        with run.lock:
            record = run.leases.get(claims.lease)
            if record is None:
                record = run.leases[claims.lease] = LeaseRecord(
                    claims.lease,
                    claims.unit,
                    claims.volunteer,
                    claims.device_class,
                    seen_at=time.time(),
                )
                self._node.note(run)
            elif record.unit != claims.unit:
                raise CapabilityForeign
            record.capability = record.capability or token
            return record

    # --- writing ---------------------------------------------------------------------------------
    def _status(self, request: Request) -> UploadStatus:
        lease = request.path_params["lease"]
        _, claims = self._gate.claims(request.headers.get("authorization"), lease)
        judged = self._judged(claims)
        if judged is not None:
            return judged
        visit = self._visit(request)
        upload = self._node.uploads.get(visit.lease.lease)
        if upload is None:
            return UploadStatus(received=0, bytes=claims.output_bytes)
        return upload.status()

    def _judged(self, claims: Claims) -> UploadStatus | None:
        """A result that was taken and judged stays complete, whatever became of it."""
        run = self._node.run_of_unit(claims.unit)
        record = None if run is None else run.leases.get(claims.lease)
        state = None if record is None else record.state
        if run is None:
            row = self._node.database.row("SELECT state FROM leases WHERE lease = ?", claims.lease)
            state = None if row is None else LeasePhase(row["state"])
        if state is None or state not in JUDGED | {LeasePhase.RECEIVED}:
            return None
        size = claims.output_bytes
        return UploadStatus(received=size, bytes=size, complete=True)

    async def _receive(self, request: Request) -> UploadStatus:
        length, digest = content_length(request), request.headers.get(DIGEST_HEADER, "")
        if not _DIGEST.fullmatch(digest):
            raise BadMessage(f"The header {DIGEST_HEADER} must hold the output's digest.")
        offset = integer(request.query_params, "offset")
        done = await in_thread(self._done_before, request)
        if done is not None:
            return done
        visit = self._visit(request)
        try:
            return await self._append(request, visit, digest, offset, length)
        except (DiskFull, StorageFailed) as problem:
            await in_thread(self._service.jobs.pause, visit.run, problem)
            raise

    def _done_before(self, request: Request) -> UploadStatus | None:
        lease = request.path_params["lease"]
        _, claims = self._gate.claims(request.headers.get("authorization"), lease)
        return self._judged(claims)

    async def _append(
        self, request: Request, visit: Visit, digest: str, offset: int, length: int
    ) -> UploadStatus:
        upload, writer = await in_thread(self._begin, visit, digest, offset, length)
        async for group in pieces(request, length):
            await in_thread(upload.append, writer, group)
        visit.run.record.bytes_up += length
        if not await in_thread(upload.finish, writer):
            return await in_thread(upload.status)
        self._service.verifier.put(visit.run, visit.lease)
        return UploadStatus(received=upload.size, bytes=upload.size, complete=True)

    def _begin(self, visit: Visit, digest: str, offset: int, length: int) -> tuple[Upload, int]:
        run, lease = visit.run, visit.lease
        upload = self._node.uploads.add(
            lease.lease, run.manifest(visit.number).output_bytes, digest
        )
        writer = upload.begin(digest, offset, length)
        if lease.digest != digest:
            lease.digest = digest
            with self._node.database.transaction() as connection:
                store_lease(connection, run.run, lease)
        return upload, writer

    def _demand_unverified(self, run: Run, number: int) -> None:
        if run.units[number].state is UnitPhase.VERIFIED:
            raise LeaseEnded("Another volunteer's result for this unit was verified first.")


def _paused() -> Unavailable:
    return Unavailable("The job is paused at the lab; try again later.", retry_after=PAUSED_RETRY_S)
