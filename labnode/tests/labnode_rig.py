"""A lab node as a process, a small site that speaks the lab's messages, and a volunteer."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import numpy
from numpy.typing import NDArray

from goblin_wire.blobs import blob_id
from goblin_wire.capability import Claims, SigningKey, issue, signature_is_valid
from goblin_wire.control import (
    ArrayInfo,
    JobInfo,
    OpenArray,
    Submission,
)
from goblin_wire.data import Manifest, UploadStatus
from goblin_wire.http import HttpClient
from goblin_wire.lab import (
    EventsReply,
    EventsRequest,
    JobAction,
    JobRegistration,
    JobStatus,
    LabEvent,
    LabHello,
    LabWelcome,
    NetworkSnapshot,
    Reachability,
    SiteKey,
    UnitBatch,
    UnitRegistration,
    Verdict,
    VerdictBatch,
    VerdictOutcome,
    VerdictReply,
)
from goblin_wire.problems import BadMessage, Problem, TokenInvalid
from goblin_wire.protocol import DIGEST_HEADER, PROTOCOL
from goblin_wire.states import LeaseState, VerdictKind
from opgraph.builder import GraphBuilder
from opgraph.executor import execute
from opgraph.graph import Graph

LAB = "ab" * 16
TOKEN = "gbl_0000000000000000_" + "x" * 43
DEVICES = NetworkSnapshot(
    devices=2,
    memory_low=1 << 30,
    memory_median=1 << 30,
    flops_low=1e10,
    flops_median=1e10,
    last_seen_s=0.0,
)


class SiteDouble:
    """The site as a lab node sees it; everything that was said lies in public lists."""

    def __init__(self) -> None:
        self.key = SigningKey.generate()
        self.lock = threading.Lock()
        self.lab_key = ""
        self.jobs: dict[str, JobRegistration] = {}
        self.states: dict[str, str] = {}
        self.units: dict[str, UnitRegistration] = {}
        self.unit_jobs: dict[str, str] = {}
        self.verdicts: list[Verdict] = []
        self.actions: list[tuple[str, JobAction]] = []
        self.events: list[LabEvent] = []
        self.notice = ""
        self.network = DEVICES
        self.reachability = Reachability(reachable=True, code="ok", reason="")
        self.refuse: Problem | None = None
        """Raised for every call while set."""
        self.refuse_jobs: Problem | None = None
        self.unknown_leases: set[str] = set()
        self.malformed: set[str] = set()
        """Leases whose verdicts the site cannot read."""
        self.open_leases = 0
        self.reset = False
        self.clock_ahead = 0.0
        self.news = threading.Event()
        handler = type("Handler", (_Handler,), {"site": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.news.set()
        self.server.shutdown()
        self.server.server_close()

    def forget(self) -> None:
        """Begin a new test."""
        with self.lock:
            self.unknown_leases.clear()
            self.malformed.clear()
            self.refuse = self.refuse_jobs = None
            self.network, self.open_leases = DEVICES, 0
            self.reachability = Reachability(reachable=True, code="ok", reason="")
        self.news.set()

    def judged(self, job: str) -> list[Verdict]:
        """Verdicts on this run's units."""
        with self.lock:
            return [each for each in self.verdicts if self.unit_jobs[each.unit] == job]

    def say(self, event: LabEvent) -> None:
        with self.lock:
            self.events.append(event)
        self.news.set()

    def claims(self, unit: str, **changes: Any) -> Claims:
        found = self.units[unit]
        said = {
            "kid": self.key.kid,
            "lab": LAB,
            "lease": secrets.token_hex(16),
            "unit": unit,
            "manifest": found.manifest,
            "output_bytes": found.output_bytes,
            "host": "0" * 32,
            "volunteer": "volunteer-1",
            "device_class": "cpu",
            "issued": time.time(),
        }
        return Claims(**{**said, **changes})

    def capability(self, unit: str, **changes: Any) -> tuple[str, str]:
        """A lease and its capability."""
        claims = self.claims(unit, **changes)
        return claims.lease, issue(self.key, claims)

    # --- what the lab node calls ------------------------------------------------------------
    def answer(self, method: str, path: str, body: bytes, headers: Any) -> Any:
        if path.startswith("/wait"):
            self.news.wait(1.0)
            self.news.clear()
            return {}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            raise TokenInvalid
        if self.refuse is not None:
            raise self.refuse
        name = path.removeprefix("/api/v1/lab/")
        with self.lock:
            return self._answer(method, name, body, headers)

    def _answer(self, method: str, name: str, body: bytes, headers: Any) -> Any:
        head, _, rest = name.partition("/")
        if name == "hello":
            self.lab_key = msgspec.json.decode(body, type=LabHello).public_key
            return self._welcome()
        if name == "events":
            return self._events(msgspec.json.decode(body, type=EventsRequest))
        if name == "verdicts":
            return self._verdicts(body, headers.get("Goblin-Signature", ""))
        if name == "probe":
            return self.reachability
        if name == "jobs":
            if self.refuse_jobs is not None:
                raise self.refuse_jobs
            job = msgspec.json.decode(body, type=JobRegistration)
            self.jobs[job.job] = job
            self.states.setdefault(job.job, "open")
            return self._status(job.job)
        assert head == "jobs"
        return self._job(rest, body)

    def _job(self, rest: str, body: bytes) -> JobStatus:
        job, _, what = rest.partition("/")
        if what == "units":
            for unit in msgspec.json.decode(body, type=UnitBatch).units:
                known = self.units.setdefault(unit.unit, unit)
                assert known == unit, "a unit was registered with other content"
                self.unit_jobs[unit.unit] = job
        elif what == "action":
            action = msgspec.json.decode(body, type=JobAction)
            self.actions.append((job, action))
            self.states[job] = {
                "pause": "paused",
                "resume": "open",
                "cancel": "cancelled",
                "finish": "finished",
            }[action.action]
        return self._status(job)

    def _status(self, job: str) -> JobStatus:
        return JobStatus(job=job, state=self.states.get(job, "open"), open_leases=self.open_leases)

    def _keys(self) -> list[SiteKey]:
        return [SiteKey(kid=self.key.kid, key=self.key.public)]

    def _welcome(self) -> LabWelcome:
        return LabWelcome(
            lab=LAB,
            epoch="1",
            site_keys=self._keys(),
            site_seconds=time.time() + self.clock_ahead,
            network=self.network,
            reachability=self.reachability,
        )

    def _events(self, request: EventsRequest) -> EventsReply:
        start = int(request.cursor or 0)
        reset, self.reset = self.reset, False
        return EventsReply(
            events=self.events[start:],
            cursor=str(len(self.events)),
            reset=reset,
            site_seconds=time.time() + self.clock_ahead,
            network=self.network,
            notice=self.notice,
            reachability=self.reachability,
            site_keys=self._keys(),
            wait_url=self.url + "/wait",
            ticket="t",
        )

    def _verdicts(self, body: bytes, signature: str) -> VerdictReply:
        assert signature_is_valid(self.lab_key, body, bytes.fromhex(signature))
        batch = msgspec.json.decode(body, type=VerdictBatch)
        outcomes = []
        if self.malformed & {each.lease for each in batch.verdicts}:
            raise BadMessage
        for verdict in batch.verdicts:
            if verdict.lease in self.unknown_leases and verdict.capability is None:
                outcomes.append(VerdictOutcome(lease=verdict.lease, code="unknown_lease"))
                continue
            known = [each for each in self.verdicts if each.lease == verdict.lease]
            if known and verdict.residual is not None:
                # Told again with its residual; as the site, which keeps the first verdict.
                assert (known[0].verdict, known[0].outputs) == (verdict.verdict, verdict.outputs)
                known[0].residual = verdict.residual
            else:
                self.verdicts.append(verdict)
            state = {VerdictKind.ACCEPTED: LeaseState.ACCEPTED}.get(
                verdict.verdict, LeaseState.REJECTED
            )
            outcomes.append(VerdictOutcome(lease=verdict.lease, state=state))
        return VerdictReply(outcomes=outcomes)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: SiteDouble

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            answer = self.site.answer(self.command, self.path, body, self.headers)
            status, content, kind = 200, msgspec.json.encode(answer), "application/json"
        except Problem as problem:
            status, content, kind = (problem.status, problem.to_bytes(), "application/problem+json")
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = _serve

    def log_message(self, *_args: Any) -> None:
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LabProcess:
    """`goblin-lab serve` as a process of its own."""

    def __init__(self, folder: Path, site: SiteDouble, data: Path, *init: str) -> None:
        self.folder = folder
        self.site = site
        self.data = data
        self.prefix = "."
        """Folder in the root in which the test's files lie."""
        self.data_port, self.control_port = free_port(), free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder.parent / "user")}
        self.run(
            "init",
            str(folder),
            "--site",
            site.url,
            "--root",
            f"data={data}",
            "--token",
            TOKEN,
            "--data-port",
            str(self.data_port),
            "--control-port",
            str(self.control_port),
            *init,
        )

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "goblin_labnode", *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=60,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def start(self, *prefix: str, environment: dict[str, str] | None = None) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "goblin_labnode", "serve", str(self.folder)],
                stdout=log,
                stderr=log,
                env={**self.environment, **(environment or {})},
            )
        wait_for(self._listens, 20.0)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(10.0) == 0, self.log()
            self.process = None

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10.0)
        self.process = None

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def control(self) -> HttpClient:
        info = json.loads((self.folder / "control.json").read_text())
        key = (self.folder / info["key_file"]).read_text()
        return HttpClient(info["url"], authorization=f"Bearer {key}")

    def data_client(self, token: str = "") -> HttpClient:
        authorization = f"Goblin {token}" if token else None
        return HttpClient(f"http://127.0.0.1:{self.data_port}", authorization=authorization)

    def open(self, path: str) -> ArrayInfo:
        return self.control().call(
            "POST", "/v1/arrays", OpenArray(path=f"{self.prefix}/{path}"), ArrayInfo
        )

    def submit(self, submission: Submission) -> JobInfo:
        return self.control().call("POST", "/v1/jobs", submission, JobInfo)

    def multiply(self, left: str, right: str, **options: Any) -> JobInfo:
        if options.get("out"):
            options["out"] = f"{self.prefix}/{options['out']}"
        return self.submit(product(self.open(left), self.open(right), **options))

    def job(self, job: str) -> JobInfo:
        return self.control().call("GET", f"/v1/jobs/{job}", None, JobInfo)

    def wait_state(self, job: str, *states: str, seconds: float = 20.0) -> JobInfo:
        found: list[JobInfo] = []

        def reached() -> bool:
            found[:] = [self.job(job)]
            return found[0].state in states

        wait_for(reached, seconds, lambda: f"{found} {self.log()}")
        return found[0]

    def wait_units(self, job: str, count: int) -> list[str]:
        """Units of this run that the site knows, once there are `count`."""

        def known() -> list[str]:
            with self.site.lock:
                return [unit for unit, owner in self.site.unit_jobs.items() if owner == job]

        wait_for(
            lambda: len(known()) >= count, 20.0, lambda: f"{self.job(job)} {self.log()[-3000:]}"
        )
        return known()

    def _listens(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        for port in (self.data_port, self.control_port):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)):
                    return False
        return True


def wait_for(
    condition: Callable[[], Any], seconds: float, explain: Callable[[], str] = lambda: ""
) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, explain()
        time.sleep(0.02)


def product(left: ArrayInfo, right: ArrayInfo, **options: Any) -> Submission:
    """The submission that the researcher's package would make."""
    build = GraphBuilder()
    a_shape = left.shape if len(left.shape) == 2 else [1, *left.shape]
    b_shape = right.shape if len(right.shape) == 2 else [*right.shape, 1]
    inputs = {"x0": left.array}
    a = build.placeholder("x0", left.dtype, a_shape)
    if left.array == right.array:
        b = a
    else:
        b = build.placeholder("x1", right.dtype, b_shape)
        inputs["x1"] = right.array
    graph = build.build(build.apply("matmul", a, b))
    return Submission(protocol=PROTOCOL, graph=graph.to_bytes().decode(), inputs=inputs, **options)


class Volunteer:
    """Computes units as a client does, with numpy."""

    def __init__(self, lab: LabProcess, name: str = "volunteer-1") -> None:
        self.lab = lab
        self.site = lab.site
        self.name = name

    def lease(self, unit: str) -> tuple[str, str]:
        lease, token = self.site.capability(unit, volunteer=self.name)
        self.site.say(
            LabEvent(
                kind="leased",
                job=self.site.unit_jobs[unit],
                unit=unit,
                lease=lease,
                volunteer=self.name,
                device_class="cpu",
            )
        )
        return lease, token

    def fetch(self, lease: str, token: str) -> tuple[Manifest, Graph, dict[str, NDArray[Any]]]:
        http = self.lab.data_client(token)
        manifest = http.call("GET", f"/v1/leases/{lease}/manifest", None, Manifest)
        key = bytes.fromhex(manifest.key)
        graph = self._blob(http, lease, manifest.graph, manifest.graph_bytes, key)
        inputs = {}
        for each in manifest.inputs:
            raw = self._blob(http, lease, each.blob, each.bytes, key)
            inputs[each.name] = numpy.frombuffer(raw, each.dtype).reshape(each.shape)
        return manifest, Graph.from_bytes(bytes(graph)), inputs

    def compute(self, unit: str) -> tuple[str, str, bytes, str]:
        """Lease, capability, right result, its digest."""
        lease, token = self.lease(unit)
        manifest, graph, inputs = self.fetch(lease, token)
        (result,) = execute(graph, inputs, threads=1)
        content = numpy.ascontiguousarray(result).tobytes()
        return lease, token, content, blob_id(bytes.fromhex(manifest.key), content)

    def upload(
        self, lease: str, token: str, content: bytes, digest: str, offset: int = 0
    ) -> UploadStatus:
        return self.lab.data_client(token).put(
            f"/v1/leases/{lease}/outputs/0?offset={offset}",
            content[offset:],
            UploadStatus,
            headers={DIGEST_HEADER: digest},
        )

    def work(self, unit: str, spoil: Callable[[NDArray[Any]], None] | None = None) -> str:
        """Compute and upload; `spoil` may change the result first. Returns the lease."""
        lease, token = self.lease(unit)
        manifest, graph, inputs = self.fetch(lease, token)
        (result,) = execute(graph, inputs, threads=1)
        result = numpy.array(result)
        if spoil is not None:
            spoil(result)
        content = result.tobytes()
        digest = blob_id(bytes.fromhex(manifest.key), content)
        assert self.upload(lease, token, content, digest).complete
        return lease

    def work_all(self, job: str, count: int) -> None:
        done: set[str] = set()
        while len(done) < count:
            for unit in self.lab.wait_units(job, len(done) + 1):
                if unit not in done:
                    self.work(unit)
                    done.add(unit)

    def _blob(self, http: HttpClient, lease: str, blob: str, size: int, key: bytes) -> bytearray:
        buffer = bytearray(size)
        got = http.read_into(f"/v1/leases/{lease}/blobs/{blob}", memoryview(buffer))
        assert got == size
        assert blob_id(key, buffer) == blob
        return buffer


def save(folder: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    numpy.save(folder / name, array)
    return array


def normal(rows: int, columns: int, dtype: str = "float32", seed: int = 0) -> NDArray[Any]:
    return numpy.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)
