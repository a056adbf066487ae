"""The load: sixteen connections that exchange, one lab that judges; raw sockets in one thread, so
that the generator takes little of the two cores that it shares with the site."""

from __future__ import annotations

import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from goblin_wire import codec
from goblin_wire.capability import SigningKey
from goblin_wire.data import ProbeReply, probe_bytes
from goblin_wire.exchange import Done, ExchangeReply, ExchangeRequest, Lease, Want
from goblin_wire.http import HttpClient
from goblin_wire.lab import (
    EventsReply,
    EventsRequest,
    JobRegistration,
    JobStatus,
    LabHello,
    LabWelcome,
    UnitBatch,
    UnitRegistration,
    Verdict,
    VerdictBatch,
    VerdictReply,
    Window,
)
from goblin_wire.protocol import PROTOCOL, SIGNATURE_HEADER
from goblin_wire.states import UnitState, VerdictKind

VERDICTS = 64
JUDGES = 8
"""Connections of the lab: with one it would fall behind sixteen clients."""
UNJUDGED = 32 * VERDICTS
"""With so many results unjudged clients wait, as a lab's window makes them: the rate is that of the
whole road, not of exchanges whose verdicts come later."""
OUTPUT = "ab" * 32
WINDOW = Window(units=1_000_000, bytes=2**50)


class Lab:
    """The lab's side, with a listener that answers the site's probe."""

    def __init__(self, site: str, people: dict[str, Any]) -> None:
        self.key = SigningKey.generate()
        self.id: str = people["id"]
        self.token: str = people["token"]
        self._site = HttpClient(site, authorization=f"Bearer {self.token}")
        self._listener = self._listen()
        self._hello(f"http://127.0.0.1:{self._listener.server_port}")

    def _listen(self) -> ThreadingHTTPServer:
        lab = self

        class Probe(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                nonce = self.path.partition("nonce=")[2]
                signature = lab.key.sign(probe_bytes(lab.id, nonce)).hex()
                body = codec.encode(ProbeReply(lab=lab.id, nonce=nonce, signature=signature))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        listener = ThreadingHTTPServer(("127.0.0.1", 0), Probe)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        return listener

    def _hello(self, endpoint: str) -> None:
        message = LabHello(protocol=PROTOCOL, public_key=self.key.public, endpoint=endpoint)
        welcome = self._site.call("POST", "/api/v1/lab/hello", message, LabWelcome)
        if not welcome.reachability.reachable:
            raise RuntimeError(welcome.reachability.reason)
        self.alive()

    def alive(self) -> None:
        """A sign of life with a wide window."""
        request = EventsRequest(protocol=PROTOCOL, window=WINDOW, limit=1)
        self._site.call("POST", "/api/v1/lab/events", request, EventsReply)

    def register(self, units: int) -> None:
        """One job with so many units, in batches of 1,024."""
        job = secrets.token_hex(16)
        message = JobRegistration(job=job, kind="product", units=units, flops=1000 * units)
        self._site.call("POST", "/api/v1/lab/jobs", message, JobStatus)
        for first in range(0, units, 1024):
            batch = UnitBatch(units=[_unit(n) for n in range(first, min(first + 1024, units))])
            self._site.call("POST", f"/api/v1/lab/jobs/{job}/units", batch, JobStatus)

    def close(self) -> None:
        self._listener.shutdown()


def _unit(index: int) -> UnitRegistration:
    return UnitRegistration(
        unit=secrets.token_hex(16),
        index=index,
        manifest="ab" * 32,
        flops=1000,
        memory=1000,
        input_bytes=1000,
        output_bytes=1000,
    )


class Connection:
    """One keep-alive connection with one request under way."""

    def __init__(self, port: int, path: str, token: str) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\n"
        )
        self._received = bytearray()
        self._length = -1
        self.sent_at = 0.0

    @property
    def socket(self) -> socket.socket:
        """Made at the first use: gunicorn keeps a thread waiting for five seconds for the first
        bytes of a connection, so that a few idle ones could hold all that it has."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, body: bytes, headers: str = "") -> None:
        head = f"{self._head}{headers}Content-Length: {len(body)}\r\n\r\n"
        self._received.clear()
        self._length = -1
        self.sent_at = time.perf_counter()
        self.socket.sendall(head.encode("ascii") + body)

    def receive(self) -> bytes | None:
        """Read what is there; the body once it is whole."""
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise RuntimeError("the site closed the connection")
        self._received += piece
        if self._length < 0:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return None
            head = bytes(self._received[:end]).lower()
            if not head.startswith(b"http/1.1 200"):
                raise RuntimeError(bytes(self._received).decode("utf-8", "replace"))
            length = head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]
            self._length = int(length)
            del self._received[: end + 4]
        return bytes(self._received) if len(self._received) >= self._length else None


@dataclass
class Client:
    """A volunteer's client with one device."""

    connection: Connection
    batch: int
    state: dict[str, Any]
    """Its host id and number, which live on from run to run."""
    leases: list[Lease] = field(default_factory=list)

    def ask(self) -> None:
        """Report the last batch and ask for another."""
        self.state.setdefault("host", secrets.token_hex(16))
        self.state["seq"] = self.state.get("seq", 0) + 1
        self.connection.send(
            codec.encode(
                ExchangeRequest(
                    protocol=PROTOCOL,
                    host=self.state["host"],
                    seq=self.state["seq"],
                    nonce=secrets.token_hex(8),
                    done=[Done(lease=x.lease, outputs=[OUTPUT], bytes=1000) for x in self.leases],
                    want=[
                        Want(
                            device="cpu",
                            units=self.batch,
                            seconds=1e6,
                            memory=2**30,
                            catalogue=1,
                            flops_per_s=1e9,
                        )
                    ],
                )
            )
        )


@dataclass
class Result:
    """What a run measured."""

    accepted: int = 0
    seconds: float = 0.0
    round_trips: list[float] = field(default_factory=list)

    def p95_ms(self) -> float:
        ordered = sorted(self.round_trips)
        return 1000 * ordered[int(0.95 * (len(ordered) - 1))]


class Load:
    """Drives all connections from one thread until the time is over or the units are gone."""

    def __init__(self, port: int, people: dict[str, Any], lab: Lab, batch: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._lab = lab
        self._judges = [Connection(port, "/api/v1/lab/verdicts", lab.token) for _ in range(JUDGES)]
        self._idle = list(self._judges)
        self._reported: list[Lease] = []
        self._waiting: list[Client] = []
        self._decode: Callable[[bytes], ExchangeReply] = msgspec.json.Decoder(ExchangeReply).decode
        self._decode_verdicts = msgspec.json.Decoder(VerdictReply).decode
        self._clients = [
            Client(Connection(port, "/api/v1/exchange", each["token"]), batch, each)
            for each in people["volunteers"]
        ]
        for client in self._clients:
            self._selector.register(client.connection.socket, selectors.EVENT_READ, client)

    def run(self, seconds: float) -> Result:
        result = Result()
        started = time.perf_counter()
        for client in self._clients:
            client.ask()
        busy = len(self._clients)
        while busy or self._reported or len(self._idle) < JUDGES:
            running = time.perf_counter() - started < seconds
            for key, _ in self._selector.select(1.0):
                if isinstance(key.data, Connection):
                    self._judged(key.data, result)
                elif (body := key.data.connection.receive()) is not None:
                    busy -= not self._answered(key.data, body, result, running)
            self._send_verdicts(last=not busy)
        result.seconds = time.perf_counter() - started
        self._close()
        return result

    def _answered(self, client: Client, body: bytes, result: Result, running: bool) -> bool:
        """Take the answer; whether the client goes on."""
        result.round_trips.append(time.perf_counter() - client.connection.sent_at)
        reply = self._decode(body)
        self._reported += client.leases
        client.leases = reply.leases
        if not client.leases:
            return False
        if not running:
            # Only to report what is in hand: it must not be counted as left over.
            client.batch = 0
        self._waiting.append(client)
        self._go_on()
        return True

    def _go_on(self) -> None:
        while self._waiting and len(self._reported) < UNJUDGED:
            self._waiting.pop(0).ask()

    def _send_verdicts(self, *, last: bool) -> None:
        enough = 1 if last else VERDICTS
        while self._idle and len(self._reported) >= enough:
            batch, self._reported = self._reported[:VERDICTS], self._reported[VERDICTS:]
            verdicts = [
                Verdict(lease=x.lease, unit=x.unit, verdict=VerdictKind.ACCEPTED, outputs=[OUTPUT])
                for x in batch
            ]
            body = codec.encode(VerdictBatch(protocol=PROTOCOL, verdicts=verdicts))
            signature = self._lab.key.sign(body).hex()
            judge = self._idle.pop()
            if judge.socket not in self._selector.get_map():
                self._selector.register(judge.socket, selectors.EVENT_READ, judge)
            judge.send(body, f"{SIGNATURE_HEADER}: {signature}\r\n")
        self._go_on()

    def _judged(self, judge: Connection, result: Result) -> None:
        if judge in self._idle:
            # It was closed because nothing had come for long; the next verdicts open it again.
            self._selector.unregister(judge.socket)
            judge.close()
            return
        body = judge.receive()
        if body is None:
            return
        outcomes = self._decode_verdicts(body).outcomes
        accepted = sum(each.unit_state is UnitState.ACCEPTED for each in outcomes)
        if accepted != len(outcomes):
            raise RuntimeError("a verdict was not taken")
        result.accepted += accepted
        self._idle.append(judge)

    def _close(self) -> None:
        for client in self._clients:
            client.connection.close()
        for judge in self._judges:
            judge.close()
        self._selector.close()
