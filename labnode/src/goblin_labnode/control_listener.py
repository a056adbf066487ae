"""The control listener: the researcher's package on this machine. See `goblin_wire.control`."""

from __future__ import annotations

import hmac
import os
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from goblin_labnode import __version__, reports
from goblin_labnode.array_uploads import ArrayUploads
from goblin_labnode.bodies import byte_range
from goblin_labnode.node import Node
from goblin_labnode.planning import explain, lab_figures, network_figures
from goblin_labnode.requests import check_submission
from goblin_labnode.service import Service
from goblin_labnode.states import job_info
from goblin_labnode.store.runs import RunRecord
from goblin_labnode.web import (
    application,
    content_length,
    in_thread,
    integer,
    message_response,
    pieces,
    problem_response,
    read_message,
    seconds,
)
from goblin_wire.control import (
    CancelReply,
    Explanation,
    JobInfo,
    JobList,
    LabInfo,
    OpenArray,
    Submission,
    UploadStart,
    UploadState,
)
from goblin_wire.problems import Problem, StorageFailed, TokenInvalid, TokenMissing
from goblin_wire.protocol import CHUNK_BYTES, PROTOCOL, WAIT_S


class KeyGuard:
    """Lets through who shows the control key."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> Problem | None:
        headers = dict(scope["headers"])
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        if scheme != b"Bearer" or not shown:
            return TokenMissing("Send the key from the lab's control.key file.")
        if hmac.compare_digest(shown, self._key):
            return None
        return TokenInvalid("This is not the key in the lab's control.key file.")


class ControlListener:
    """The handlers."""

    def __init__(self, service: Service, key: str) -> None:
        self._service = service
        self._node: Node = service.node
        self._uploads: ArrayUploads = service.node.array_uploads
        self._key = key

    def app(self) -> ASGIApp:
        job = "/v1/jobs/{job}"
        routes = [
            Route("/v1/lab", self.lab),
            Route("/v1/arrays", self.open_array, methods=["POST"]),
            Route("/v1/uploads", self.start_upload, methods=["POST"]),
            Route("/v1/uploads/{upload}", self.upload, methods=["GET", "PUT"]),
            Route("/v1/explain", self.explain, methods=["POST"]),
            Route("/v1/jobs", self.jobs, methods=["GET", "POST"]),
            Route(job, self.job),
            Route(f"{job}/parts", self.parts),
            Route(f"{job}/report", self.report),
            Route(f"{job}/cancel", self.cancel, methods=["POST"]),
            Route(f"{job}/result", self.result),
            Route(f"{job}/result/data", self.result_data),
        ]
        return application(list(routes), lambda app: KeyGuard(app, self._key))

    async def lab(self, _request: Request) -> Response:
        config, site = self._node.config, self._node.site
        trouble = site.trouble
        return message_response(
            LabInfo(
                lab=config.lab,
                name=config.name,
                site=config.site,
                version=__version__,
                protocol=PROTOCOL,
                roots=self._node.roots.names,
                online=site.seen_recently(),
                reason=trouble[1][:500] if trouble is not None else "",
                network=site.network,
                reachability=site.reachability,
                flops_left_today=site.flops_left_today,
                retention_days=config.retention.results_days,
            )
        )

    async def open_array(self, request: Request) -> Response:
        message = await read_message(request, OpenArray)
        source = await in_thread(self._node.arrays.open_array, message)
        return message_response(source.info)

    async def start_upload(self, request: Request) -> Response:
        message = await read_message(request, UploadStart)
        return message_response(await in_thread(self._uploads.start, message))

    async def upload(self, request: Request) -> Response:
        upload = request.path_params["upload"]
        if request.method == "PUT":
            return message_response(await self._receive(request, upload))
        return message_response(await in_thread(self._uploads.state, upload))

    async def explain(self, request: Request) -> Response:
        submission = await read_message(request, Submission)
        return message_response(await in_thread(self._explain, submission))

    async def jobs(self, request: Request) -> Response:
        if request.method == "GET":
            return message_response(JobList(jobs=await in_thread(self._list)))
        submission = await read_message(request, Submission)
        return message_response(await in_thread(self._submit, submission))

    async def job(self, request: Request) -> Response:
        record = await self._find(request)
        held = seconds(request.query_params, "wait", WAIT_S)
        if held:
            after = integer(request.query_params, "after")
            await self._node.changes.wait(record.job, after, held)
            record = await self._find(request)
        return message_response(await in_thread(job_info, self._node, record))

    async def parts(self, request: Request) -> Response:
        record = await self._find(request)
        after = integer(request.query_params, "after")
        return message_response(await in_thread(reports.parts, self._node, record, after))

    async def report(self, request: Request) -> Response:
        record = await self._find(request)
        return message_response(await in_thread(reports.report, self._node, record))

    async def cancel(self, request: Request) -> Response:
        job = request.path_params["job"]
        return message_response(
            CancelReply(cancelled=await in_thread(self._service.jobs.cancel, job))
        )

    async def result(self, request: Request) -> Response:
        record = await self._find(request)
        return message_response(await in_thread(reports.result_info, self._node, record))

    async def result_data(self, request: Request) -> Response:
        record = await self._find(request)
        descriptor, offset, size = await in_thread(reports.open_result, self._node, record)
        try:
            span = byte_range(request, size)
        except Problem:
            os.close(descriptor)
            raise
        begin, end = span or (0, size)
        headers = {"Content-Length": str(end - begin), "Accept-Ranges": "bytes"}
        if span is not None:
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
        return StreamingResponse(
            _Span(descriptor, offset + begin, end - begin).chunks(),
            206 if span else 200,
            headers,
            media_type="application/octet-stream",
        )

    # --- parts that may wait -------------------------------------------------------------------
    async def _find(self, request: Request) -> RunRecord:
        return await in_thread(self._service.jobs.find, request.path_params["job"])

    def _submit(self, submission: Submission) -> JobInfo:
        return job_info(self._node, self._service.jobs.submit(submission))

    def _list(self) -> list[JobInfo]:
        return [job_info(self._node, record) for record in self._service.jobs.list()]

    def _explain(self, submission: Submission) -> Explanation:
        node = self._node
        request = check_submission(submission, node.arrays.get)
        network = network_figures(node.site.network, memory=request.memory, loopback=node.loopback)
        lab = lab_figures(node.speed.flops_per_s, loopback=node.loopback)
        return explain(request, node.site.network, network, lab, reports.retention_sentence(node))

    async def _receive(self, request: Request, upload: str) -> UploadState:
        length, offset = content_length(request), integer(request.query_params, "offset")
        await in_thread(self._uploads.begin, upload, offset, length)
        async for group in pieces(request, length):
            await in_thread(self._uploads.append, upload, offset, group)
            offset += sum(map(len, group))
        return await in_thread(self._uploads.finish, upload)


class _Span:
    """Bytes of an open file; it is closed with the last use of this, begun or not."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self._descriptor = descriptor
        self._offset = offset
        self._size = size

    def __del__(self) -> None:
        os.close(self._descriptor)

    async def chunks(self) -> AsyncIterator[bytes]:
        offset, size = self._offset, self._size
        while size:
            piece = await in_thread(os.pread, self._descriptor, min(CHUNK_BYTES, size), offset)
            if not piece:
                raise StorageFailed("The result's file became shorter.")
            yield piece
            offset, size = offset + len(piece), size - len(piece)
