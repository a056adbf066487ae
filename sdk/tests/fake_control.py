"""A lab node in this process that speaks the control messages and computes with numpy.

Tests decide when tiles are verified (`verify`), how a job ends, and what goes wrong (`faults`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy
from numpy.typing import NDArray

from goblin_wire import control, problems
from goblin_wire.blobs import array_digest, derive_id
from goblin_wire.codec import decode, encode
from goblin_wire.lab import NetworkSnapshot, Reachability
from goblin_wire.problems import PROBLEM_JSON, Problem
from goblin_wire.protocol import PROTOCOL
from goblin_wire.states import FINISHED_JOBS, JobState
from opgraph.graph import Graph

KEY = "control-key"
TILES = 4
Fault = Callable[["Handler"], bool]


class FakeJob:
    def __init__(self, info: control.JobInfo, result: NDArray[Any], out: Path) -> None:
        self.info = info
        self.result = result
        self.out = out
        self.parts: list[control.Part] = []
        self.expired = False


class FakeLab:
    """`folder` gets control.json and control.key, as the real one's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "data"
        self.root.mkdir(parents=True, exist_ok=True)
        (folder / "control.key").write_text(KEY + "\n")
        self.arrays: dict[str, NDArray[Any]] = {}
        self.uploads: dict[str, tuple[control.UploadStart, bytearray]] = {}
        self.jobs: dict[str, FakeJob] = {}
        self.requests: list[tuple[str, str, int]] = []
        self.opened: list[control.OpenArray] = []
        self.faults: list[Fault] = []
        self.protocol = PROTOCOL
        self.devices = 2
        self.shared = True
        self.changed = threading.Condition()
        self._server: Server | None = None
        self.start()

    def start(self, port: int = 0) -> None:
        lab = self

        class Bound(Handler):
            owner = lab

        Server.allow_reuse_address = True
        self._server = Server(("127.0.0.1", port), Bound)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        description = {"url": self.url, "key_file": "control.key", "lab": "1" * 32}
        draft = self.folder / ".control.json"
        draft.write_text(json.dumps(description))
        draft.replace(self.folder / "control.json")
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """As kill -9: every connection is cut."""
        if self._server is not None:
            self._server.shutdown()
            self._server.cut()
            self._server.server_close()
            self._server = None

    def save(self, name: str, array: NDArray[Any]) -> None:
        numpy.save(self.root / name, array)

    def verify(self, job: str, tiles: int = 1) -> None:
        """Let some more tiles of a job become verified; the last one ends it."""
        fake = self.jobs[job]
        for _ in range(tiles):
            number = len(fake.parts) + 1
            shape = fake.result.shape
            rows = shape[0] if shape else 1
            cut = [rows * step // TILES for step in range(TILES + 1)]
            fake.parts.append(
                control.Part(
                    number=number,
                    unit=f"{number:032x}",
                    start=[cut[number - 1], *[0] * (len(shape) - 1)] if shape else [],
                    stop=[cut[number], *shape[1:]] if shape else [],
                    volunteer=f"goblin-{number}",
                    repaired_rows=number % 2,
                )
            )
            fake.info.progress.verified = number
            fake.info.progress.flops_verified = fake.info.progress.flops * number // TILES
        if len(fake.parts) == TILES:
            numpy.save(fake.out, fake.result)
            self.move(job, JobState.DONE, "all tiles are verified", by="lab")
        else:
            self.move(job, JobState.RUNNING, "")

    def move(
        self, job: str, state: JobState, reason: str, *, by: str = "lab", code: str = "ok"
    ) -> None:
        info = self.jobs[job].info
        info.state, info.reason, info.by, info.code = state, reason, by, code
        with self.changed:
            info.version += 1
            self.changed.notify_all()

    def info(self) -> control.LabInfo:
        return control.LabInfo(
            lab="1" * 32,
            name="test lab",
            site="https://site.example",
            version="0.1.0",
            protocol=self.protocol,
            roots=["data"],
            online=True,
            network=self.network(),
            reachability=Reachability(reachable=True, code="ok"),
            flops_left_today=10**15,
        )

    def network(self) -> NetworkSnapshot:
        if not self.devices:
            return NetworkSnapshot(last_seen_s=7200)
        return NetworkSnapshot(
            devices=self.devices, memory_low=4 << 30, flops_low=1e11, flops_median=1e11
        )

    def known(self, name: str) -> FakeJob:
        for job, fake in self.jobs.items():
            if name in (job, fake.info.name):
                return fake
        raise problems.UnknownJob

    def submit(self, message: control.Submission) -> control.JobInfo:
        job = derive_id(bytes(32), message.graph, str(message.inputs), str(message.out))
        if job in self.jobs and not message.fresh:
            return self.jobs[job].info
        self._refuse_too_small(message)
        graph = Graph.from_bytes(message.graph.encode())
        (node,) = graph.nodes
        left, right = (
            self.arrays[message.inputs[graph.placeholders[place].name]].reshape(
                graph.placeholders[place].type.shape
            )
            for place in node.operands
        )
        result = (left @ right).reshape(message.shape or [])
        waiting = "" if self.devices else "0 volunteers are online, the last was seen 2 h ago"
        info = control.JobInfo(
            job=job,
            name=message.name,
            state=JobState.RUNNING if self.devices else JobState.WAITING,
            reason=waiting,
            by="lab",
            version=1,
            progress=control.Progress(units=TILES, flops=2 * result.size * left.shape[1] or 1),
            shape=list(result.shape),
            dtype=result.dtype.name,
        )
        out = self.root / (message.out or f"{job}.npy")
        self.jobs[job] = FakeJob(info, result, out)
        return info

    def explain(self, message: control.Submission) -> control.Explanation:
        graph = Graph.from_bytes(message.graph.encode())
        explanation = control.Explanation(
            shape=list(message.shape or []),
            dtype=graph.output_types[0].dtype,
            possible=True,
            units=TILES,
            tile=[8, 8],
            slices=1,
            flops=1000,
            network=self.network(),
            estimate=control.TimeRange(low_s=9.0, high_s=30.0),
            lab_alone_s=1.0,
            slower=True,
            verdict="Faster on your own machine: about 1 s there.",
            verification="Checked.",
            exposure="All.",
            retention="Kept for 30 days.",
        )
        try:
            self._refuse_too_small(message)
        except Problem as problem:
            explanation.possible, explanation.problem = False, problem.detail
            explanation.problem_code = problem.code
        return explanation

    def _refuse_too_small(self, message: control.Submission) -> None:
        if message.memory is not None and message.memory < 1000:
            raise problems.MemoryTooSmall(f"No plan fits {message.memory} bytes.")

    def result_info(self, fake: FakeJob) -> control.ResultInfo:
        if fake.expired:
            raise problems.ResultExpired("It was kept for 30 days.", when="3 days ago")
        if fake.info.state not in FINISHED_JOBS:
            raise problems.NotReady
        proof = fake.out.with_suffix(".proof")
        proof.write_text("5ec2e7" if self.shared else "something else")
        return control.ResultInfo(
            path=str(fake.out),
            proof=str(proof),
            nonce="5ec2e7",
            dtype=fake.result.dtype.name,
            shape=list(fake.result.shape),
            bytes=fake.result.nbytes,
        )

    def open(self, path: str) -> control.ArrayInfo:
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root.resolve()):
            raise problems.PathOutsideRoots
        if not file.exists():
            raise problems.FileMissing(f"There is no file {path}.")
        array = numpy.load(file)
        return self.keep(derive_id(bytes(32), "file", path), array)

    def keep(self, name: str, array: NDArray[Any]) -> control.ArrayInfo:
        self.arrays[name] = array
        return control.ArrayInfo(
            array=name, dtype=array.dtype.name, shape=list(array.shape), bytes=array.nbytes
        )

    def upload_state(self, upload: str) -> control.UploadState:
        start, content = self.uploads[upload]
        dtype, shape = numpy.dtype(start.dtype), tuple(start.shape)
        wanted = dtype.itemsize * int(numpy.prod(shape))
        state = control.UploadState(upload=upload, received=len(content), bytes=wanted)
        if upload in self.arrays:
            state.array = self.keep(upload, self.arrays[upload])
        elif len(content) == wanted and wanted:
            if array_digest(start.dtype, shape, content) != start.digest:
                content.clear()
                raise problems.DigestMismatch
            array = numpy.frombuffer(bytes(content), dtype).reshape(shape)
            state.array = self.keep(upload, array)
        return state


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._open: set[Any] = set()
        super().__init__(*arguments)

    def get_request(self) -> Any:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def cut(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(2)
            except OSError:
                continue

    def handle_error(self, request: object, client_address: object) -> None:
        """Cut connections are what tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: FakeLab
    body: bytes

    def handle_any(self) -> None:
        lab, split = self.owner, urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        lab.requests.append((self.command, split.path, length))
        for fault in list(lab.faults):
            if fault(self):
                return
        self.body = self.rfile.read(length)
        self.query = {name: values[0] for name, values in parse_qs(split.query).items()}
        parts = [unquote(part) for part in split.path.strip("/").split("/")]
        try:
            if self.headers.get("Authorization") != f"Bearer {KEY}":
                raise problems.TokenInvalid
            answer = self.route(lab, parts[1:])
        except Problem as problem:
            self.reply(problem.status, problem.to_bytes(), PROBLEM_JSON)
            return
        self.reply(200, encode(answer) if not isinstance(answer, memoryview) else answer)

    do_GET = do_POST = do_PUT = handle_any

    def route(self, lab: FakeLab, parts: list[str]) -> Any:
        match self.command, *parts:
            case "GET", "lab":
                return lab.info()
            case "POST", "arrays":
                lab.opened.append(decode(self.body, control.OpenArray))
                return lab.open(lab.opened[-1].path)
            case "POST", "uploads":
                start = decode(self.body, control.UploadStart)
                upload = start.digest[:32]
                lab.uploads.setdefault(upload, (start, bytearray()))
                return lab.upload_state(upload)
            case "GET", "uploads", upload:
                return lab.upload_state(upload)
            case "PUT", "uploads", upload:
                return self.take(lab, upload)
            case "POST", "explain":
                return lab.explain(decode(self.body, control.Submission))
            case "POST", "jobs":
                return lab.submit(decode(self.body, control.Submission))
            case "GET", "jobs":
                return control.JobList(jobs=[fake.info for fake in lab.jobs.values()])
            case method, "jobs", name, *rest:
                return self.of_job(lab, lab.known(name), method, rest)
        raise problems.NotFound

    def take(self, lab: FakeLab, upload: str) -> control.UploadState:
        start, content = lab.uploads[upload]
        if int(self.query["offset"]) != len(content):
            raise problems.OffsetMismatch(received=len(content))
        content += self.body
        state = lab.upload_state(upload)
        if state.bytes == 0:
            state.array = lab.keep(upload, numpy.zeros(tuple(start.shape), start.dtype))
        return state

    def of_job(self, lab: FakeLab, fake: FakeJob, method: str, rest: list[str]) -> Any:
        match method, *rest:
            case ("GET",):
                return self.held(lab, fake)
            case "GET", "parts":
                after = int(self.query["after"])
                finished = fake.info.state in FINISHED_JOBS
                return control.PartList(
                    parts=fake.parts[after : after + 2],
                    finished=finished and after + 2 >= len(fake.parts),
                )
            case "GET", "report":
                return control.Report(
                    job=fake.info.job,
                    name=fake.info.name,
                    state=fake.info.state,
                    units=TILES,
                    verified=len(fake.parts),
                    volunteers=[
                        control.Share(
                            volunteer="goblin-1",
                            units=1,
                            flops=5,
                            exposure={"x0": 0.25, "x1": 1.0},
                        )
                    ],
                    refusals=[
                        control.Refusal(
                            unit="9" * 32, volunteer="goblin-9", code="wrong", reason="All zeros."
                        )
                    ],
                    max_residual=0.25 if fake.info.state in FINISHED_JOBS else None,
                )
            case "POST", "cancel":
                ended = fake.info.state in FINISHED_JOBS
                if not ended:
                    lab.move(fake.info.job, JobState.CANCELLED, "it was asked for", by="researcher")
                return control.CancelReply(cancelled=not ended)
            case "GET", "result":
                return lab.result_info(fake)
            case "GET", "result", "data":
                return self.part_of(fake.result)
        raise problems.NotFound

    def held(self, lab: FakeLab, fake: FakeJob) -> control.JobInfo:
        until = time.monotonic() + int(self.query.get("wait", 0))
        after = int(self.query.get("after", -1))
        with lab.changed:
            while fake.info.version <= after and time.monotonic() < until:
                lab.changed.wait(max(0.0, until - time.monotonic()))
        return fake.info

    def part_of(self, result: NDArray[Any]) -> memoryview:
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        content = memoryview(result.tobytes())
        self.range = f"bytes {first}-{last}/{len(content)}"
        return content[int(first) : int(last) + 1]

    range = ""

    def reply(self, status: int, body: bytes | memoryview, kind: str = "application/json") -> None:
        self.send_response(206 if self.range else status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.range:
            self.send_header("Content-Range", self.range)
            self.range = ""
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep standard error quiet."""
