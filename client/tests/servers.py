"""A site and a lab node that speak the wire, in this process, and can be made to fail."""

from __future__ import annotations

import base64
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import numpy
from numpy.typing import NDArray

from goblin_wire.blobs import blob_id, digest
from goblin_wire.codec import decode, encode
from goblin_wire.data import InputSpec, Manifest, TensorSpec, UploadStatus
from goblin_wire.exchange import (
    Done,
    Ended,
    ExchangeReply,
    ExchangeRequest,
    LabAddress,
    Lease,
    Settled,
    Unknown,
)
from goblin_wire.problems import (
    CapabilityForeign,
    CopiedHost,
    DigestMismatch,
    HostRemoved,
    NotFound,
    OffsetMismatch,
    Problem,
    TokenInvalid,
    UnknownBlob,
    UnknownLease,
)
from goblin_wire.volunteer import VolunteerStatus
from opgraph.builder import GraphBuilder
from opgraph.cost import flops
from opgraph.graph import Graph
from opgraph.memory import peak_bytes

TOKEN = "gbv_0123456789abcdef_" + "A" * 43
Hook = Callable[["Handler", str], bool]


class Handler(BaseHTTPRequestHandler):
    """Routes to the server's `answer(handler)`; bodies are read whole."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.owner.serve(self)

    do_POST = do_PUT = do_GET

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def reply(
        self,
        content: bytes,
        *,
        status: int = 200,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, problem: Problem) -> None:
        self.reply(problem.to_bytes(), status=problem.status, kind="application/problem+json")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: Partner

    def handle_error(self, *_: Any) -> None:
        pass


class Partner:
    """One server on loopback. `hook(handler, path)` may take a request over (returns True)."""

    def __init__(self) -> None:
        self.hook: Hook | None = None
        self.lock = threading.RLock()
        self.requests: list[str] = []
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler: Handler) -> None:
        path = urlsplit(handler.path).path
        with self.lock:
            self.requests.append(f"{handler.command} {path}")
        try:
            if self.hook is None or not self.hook(handler, path):
                self.answer(handler, path)
        except Problem as problem:
            handler.refuse(problem)

    def answer(self, handler: Handler, path: str) -> None:
        raise NotFound


@dataclass
class Unit:
    """A unit of a lab, with what is needed to check its result."""

    id: str
    manifest: bytes
    message: Manifest
    expected: NDArray[Any]
    flops: int
    memory: int


@dataclass
class Staging:
    content: bytearray = field(default_factory=bytearray)
    digest: str = ""
    complete: bool = False


class Lab(Partner):
    """Serves units and takes uploads."""

    def __init__(self) -> None:
        super().__init__()
        self.id = secrets.token_hex(16)
        self.key = secrets.token_bytes(32)
        self.blobs: dict[str, bytes] = {}
        self.units: dict[str, Unit] = {}
        self.leases: dict[str, Unit] = {}
        self.staging: dict[tuple[str, int], Staging] = {}
        self.served = 0
        self.taken = 0

    @property
    def address(self) -> LabAddress:
        return LabAddress(lab=self.id, endpoint=self.url)

    def blob(self, content: bytes) -> str:
        name = blob_id(self.key, content)
        self.blobs[name] = content
        return name

    def product(
        self,
        m: int = 48,
        k: int = 32,
        n: int = 40,
        *,
        slices: int = 2,
        seed: int = 0,
        dtype: str = "float32",
        pairs: int | None = None,
        **changes: Any,
    ) -> Unit:
        """A unit of this lab, of `pairs` different slices; `changes` go into the manifest."""
        random = numpy.random.default_rng(seed)
        parts = [
            (
                random.standard_normal((m, k)).astype(dtype),
                random.standard_normal((k, n)).astype(dtype),
            )
            for _ in range(pairs or slices)
        ]
        graph = product_graph(m, k, n, slices, dtype)
        inputs = []
        for number in range(slices):
            for letter, array in zip("ab", parts[number % len(parts)], strict=True):
                inputs.append(
                    InputSpec(
                        name=f"{letter}{number}",
                        blob=self.blob(array.tobytes()),
                        bytes=array.nbytes,
                        dtype=dtype,
                        shape=list(array.shape),
                    )
                )
        expected = sum(
            a.astype("float64") @ b.astype("float64") * len(range(number, slices, len(parts)))
            for number, (a, b) in enumerate(parts)
        )
        return self.unit(graph, inputs, numpy.asarray(expected), **changes)

    def unit(
        self, graph: Graph, inputs: list[InputSpec], expected: NDArray[Any], **changes: Any
    ) -> Unit:
        content = changes.pop("graph_content", graph.to_bytes())
        message = Manifest(
            unit=secrets.token_hex(16),
            key=self.key.hex(),
            graph=self.blob(content),
            graph_bytes=len(content),
            flops=flops(graph),
            memory=peak_bytes(graph),
            inputs=inputs,
            outputs=[
                TensorSpec(dtype=each.dtype, shape=list(each.shape)) for each in graph.output_types
            ],
        )
        message = msgspec.structs.replace(message, **changes)
        unit = Unit(message.unit, encode(message), message, expected, message.flops, message.memory)
        self.units[unit.id] = unit
        return unit

    def answer(self, handler: Handler, path: str) -> None:
        parts = path.strip("/").split("/")
        lease = parts[2] if len(parts) > 3 else ""
        unit = self.leases.get(lease)
        if unit is None:
            raise UnknownLease
        if f"lease-{lease}" not in _claims_text(handler):
            raise CapabilityForeign
        if parts[3] == "manifest":
            handler.reply(unit.manifest)
        elif parts[3] == "blobs":
            self._blob(handler, parts[4])
        elif handler.command == "GET":
            handler.reply(encode(self._status(lease, unit, int(parts[4]))))
        else:
            self._put(handler, lease, unit, int(parts[4]))

    def _blob(self, handler: Handler, name: str) -> None:
        content = self.blobs.get(name)
        if content is None:
            raise UnknownBlob
        ranged = handler.headers.get("Range")
        if ranged is None:
            self.served += len(content)
            handler.reply(content, kind="application/octet-stream")
            return
        start, end = (int(each) for each in ranged.removeprefix("bytes=").split("-"))
        part = content[start : end + 1]
        self.served += len(part)
        handler.reply(
            part,
            status=206,
            kind="application/octet-stream",
            headers={"Content-Range": f"bytes {start}-{end}/{len(content)}"},
        )

    def _size(self, unit: Unit, index: int) -> int:
        spec = unit.message.outputs[index]
        return int(numpy.prod(spec.shape)) * numpy.dtype(spec.dtype).itemsize

    def _status(self, lease: str, unit: Unit, index: int) -> UploadStatus:
        staging = self.staging.get((lease, index), Staging())
        return UploadStatus(
            received=len(staging.content), bytes=self._size(unit, index), complete=staging.complete
        )

    def _put(self, handler: Handler, lease: str, unit: Unit, index: int) -> None:
        offset = int(parse_qs(urlsplit(handler.path).query)["offset"][0])
        staging = self.staging.setdefault((lease, index), Staging())
        size = self._size(unit, index)
        body = handler.body()
        if not staging.complete:
            if offset != len(staging.content):
                raise OffsetMismatch(received=len(staging.content))
            staging.content += body
            self.taken += len(body)
            if len(staging.content) == size:
                self._finish(handler, staging)
        handler.reply(encode(self._status(lease, unit, index)))

    def _finish(self, handler: Handler, staging: Staging) -> None:
        staging.digest = blob_id(self.key, bytes(staging.content))
        if staging.digest != handler.headers["Goblin-Digest"]:
            staging.content.clear()
            raise DigestMismatch
        staging.complete = True

    def result(self, lease: str) -> NDArray[Any]:
        spec = self.leases[lease].message.outputs[0]
        content = bytes(self.staging[lease, 0].content)
        return numpy.frombuffer(content, spec.dtype).reshape(spec.shape)


class Site(Partner):
    """Leases the units that were offered, and settles what the lab has whole."""

    def __init__(self) -> None:
        super().__init__()
        self.offers: list[tuple[Lab, Unit]] = []
        self.open: dict[str, tuple[Lease, Lab]] = {}
        self.hosts: dict[str, tuple[int, str, bytes]] = {}
        self.exchanges: list[ExchangeRequest] = []
        self.times: list[float] = []
        self.reported: dict[str, Done] = {}
        self.settled: dict[str, Settled] = {}
        self.ended: list[Ended] = []
        self.forgotten: set[str] = set()
        self.settling = True
        self.removed = False
        """Its person removed the machine."""
        self.lease_seconds = 60.0
        self.poll_after_ms = 100
        self.waiting = threading.Condition()
        self.changes = 0

    def offer(self, lab: Lab, *units: Unit) -> None:
        with self.waiting:
            self.offers += [(lab, unit) for unit in units]
            self.changes += 1
            self.waiting.notify_all()

    def answer(self, handler: Handler, path: str) -> None:
        if path == "/wait":
            self._wait(handler)
        elif handler.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise TokenInvalid
        elif path == "/api/v1/exchange":
            self._exchange(handler)
        elif path == "/api/v1/volunteer/status":
            handler.reply(encode(VolunteerStatus()))
        elif path == "/api/v1/sign-out":
            handler.reply(b"{}")
        else:
            raise NotFound

    def _wait(self, handler: Handler) -> None:
        seen = int(parse_qs(urlsplit(handler.path).query)["ticket"][0])
        with self.waiting:
            self.waiting.wait_for(lambda: self.changes != seen, 25)
        handler.reply(b"{}")

    def _exchange(self, handler: Handler) -> None:
        request = decode(handler.body(), ExchangeRequest)
        if self.removed:
            raise HostRemoved
        with self.lock:
            seq, nonce, answer = self.hosts.get(request.host, (0, "", b""))
            if request.seq < seq or (request.seq == seq and request.nonce != nonce):
                raise CopiedHost
            if request.seq > seq:
                answer = encode(self._take(request))
                self.hosts[request.host] = (request.seq, request.nonce, answer)
        handler.reply(answer)

    def _take(self, request: ExchangeRequest) -> ExchangeReply:
        self.exchanges.append(request)
        self.times.append(time.monotonic())
        for returned in request.returned:
            self.open.pop(returned.lease, None)
        unknown = self._reports(request)
        listed = {each.lease for each in request.holding} | {each.lease for each in request.done}
        again = [lease for lease, _ in self.open.values() if lease.lease not in listed]
        leases = [
            self._lease(*self.offers.pop(0), want.device)
            for want in request.want
            for _ in range(min(want.units, len(self.offers)))
        ]
        ended, self.ended = self.ended, []
        return ExchangeReply(
            leases=leases,
            again=again,
            unknown=unknown,
            ended=ended,
            settled=self._settlements(request),
            poll_after_ms=self.poll_after_ms,
            wait_url=f"{self.url}/wait",
            ticket=str(self.changes),
        )

    def _reports(self, request: ExchangeRequest) -> list[Unknown]:
        unknown = []
        for done in request.done:
            if done.lease in self.forgotten and done.capability is None:
                unknown.append(Unknown(lease=done.lease))
            else:
                self.reported[done.lease] = done
                self.open.pop(done.lease, None)
        return unknown

    def _settlements(self, request: ExchangeRequest) -> list[Settled]:
        if not self.settling:
            return []
        return [
            self.settled.get(lease, Settled(lease=lease, verdict="accepted", flops=1))
            for lease in {each.lease for each in request.done} & self.reported.keys()
        ]

    def _lease(self, lab: Lab, unit: Unit, device: str) -> Lease:
        lease = make_lease(lab, unit, device, seconds=self.lease_seconds)
        self.open[lease.lease] = (lease, lab)
        return lease


def make_lease(
    lab: Lab, unit: Unit, device: str = "cpu", /, *, seconds: float = 60.0, **changes: Any
) -> Lease:
    """A lease on a unit, known to its lab."""
    lease = secrets.token_hex(16)
    lab.leases[lease] = unit
    outputs = sum(lab._size(unit, index) for index in range(len(unit.message.outputs)))
    claims = {
        "lab": lab.id,
        "lease": lease,
        "unit": unit.id,
        "manifest": digest(unit.manifest),
        "output_bytes": outputs,
        "note": f"lease-{lease}",
    }
    body = base64.urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
    made = Lease(
        lease=lease,
        unit=unit.id,
        device=device,
        seconds=seconds,
        flops=unit.flops,
        memory=unit.memory,
        input_bytes=unit.message.graph_bytes + sum(each.bytes for each in unit.message.inputs),
        output_bytes=outputs,
        lab=lab.address,
        capability=f"{body}.c2ln",
    )
    return msgspec.structs.replace(made, **changes)


def _claims_text(handler: Handler) -> str:
    scheme, _, token = handler.headers.get("Authorization", "").partition(" ")
    if scheme != "Goblin":
        raise CapabilityForeign
    body = token.partition(".")[0]
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()


def product_graph(m: int, k: int, n: int, slices: int, dtype: str = "float32") -> Graph:
    """A tile of m x n whose sum runs over `slices` slices of depth k."""
    builder = GraphBuilder()
    pairs = [
        (
            builder.placeholder(f"a{each}", dtype, (m, k)),
            builder.placeholder(f"b{each}", dtype, (k, n)),
        )
        for each in range(slices)
    ]
    value = builder.apply("matmul", *pairs[0])
    for pair in pairs[1:]:
        value = builder.apply("matmul_add", value, *pair)
    return builder.build(value)
