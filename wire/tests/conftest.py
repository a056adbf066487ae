"""Small real servers on loopback that answer whatever a test tells them to."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import settings

settings.register_profile("wire", deadline=None)  # machines are shared while tests run
settings.load_profile("wire")

Answer = Callable[["Handler"], None]


class Seen(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: Message
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """One request: the body is read, noted and handed to the test's answer."""

    protocol_version = "HTTP/1.1"
    answer: Answer
    seen: list[Seen]

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        type(self).seen.append(Seen(self.command, self.path, self.headers, body))
        type(self).answer(self)

    do_GET = do_PUT = do_POST = handle_any

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep standard error quiet."""


class Server(NamedTuple):
    url: str
    seen: list[Seen]


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what many tests are about."""


class Identity(NamedTuple):
    """A self-signed certificate and its key."""

    file: Path
    fingerprint: str


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start a server that answers with the given function; `identity` makes it speak TLS."""
    running: list[QuietServer] = []

    def start(answer: Answer, identity: Identity | None = None) -> Server:
        seen: list[Seen] = []
        kind = type("Bound", (Handler,), {"answer": staticmethod(answer), "seen": seen})
        server = QuietServer(("127.0.0.1", 0), kind)
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity.file)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        scheme = "http" if identity is None else "https"
        return Server(f"{scheme}://127.0.0.1:{server.server_port}", seen)

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def make_identity(folder: Path, days: int = 10) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=20)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=20 + days))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    file = folder / "identity.pem"
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return Identity(file, certificate.fingerprint(hashes.SHA256()).hex())


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return make_identity(tmp_path)


@pytest.fixture
def expired_identity(tmp_path: Path) -> Identity:
    return make_identity(tmp_path, days=-1)
