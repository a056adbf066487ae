"""The way to the site through a proxy, and certificates that are not right."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from client.tests.servers import TOKEN, Lab, Site
from goblin_client.errors import ClientError
from goblin_client.joining import check_token
from goblin_client.transfer.link import LabLinks, failure
from goblin_wire.exchange import LabAddress
from goblin_wire.problems import BadCertificate

LOGIN = "Basic " + base64.b64encode(b"user:word").decode()


def make_identity(folder: Path, days: int = 10) -> tuple[Path, str]:
    """A self-signed certificate for 127.0.0.1 with its key, and its SHA-256."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=20)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=20 + days))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"identity{days}.pem"
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file, certificate.fingerprint(hashes.SHA256()).hex()


def secure(partner: Site | Lab, identity: Path) -> str:
    """Let a partner speak TLS; its new URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    server = partner._server
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return f"https://127.0.0.1:{partner.port}"


class Proxy:
    """A CONNECT proxy that wants a name and a word."""

    def __init__(self) -> None:
        self.tunnels: list[str] = []
        self.refused = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(connection,), daemon=True).start()

    def _tunnel(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(65536)
        target = head.split()[1].decode()
        if LOGIN.encode() not in head:
            self.refused += 1
            connection.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
            )
            connection.close()
            return
        self.tunnels.append(target)
        host, _, port = target.partition(":")
        other = socket.create_connection((host, int(port)))
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=_pump, args=(connection, other), daemon=True).start()
        _pump(other, connection)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass
    finally:
        sink.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()


def test_row_32_an_authenticating_proxy_leads_to_the_site(
    site: Site, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity, _ = make_identity(tmp_path)
    url = secure(site, identity)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(identity))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(ClientError, match="407"):
        check_token(url, TOKEN)
    assert not site.requests
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:word@127.0.0.1:{proxy.port}")
    assert check_token(url, TOKEN) == TOKEN
    assert proxy.tunnels == [f"127.0.0.1:{site.port}"]


def test_row_32_labs_are_never_reached_through_a_proxy(
    lab: Lab, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity, fingerprint = make_identity(tmp_path)
    url = secure(lab, identity)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:word@127.0.0.1:{proxy.port}")
    links = LabLinks(allow_private=True)
    address = LabAddress(lab=lab.id, endpoint=url, certificate=fingerprint)
    with pytest.raises(Exception, match="no such lease"):
        links.client(address).get_bytes(f"/v1/leases/{'a' * 32}/manifest")
    assert not proxy.tunnels
    assert proxy.refused == 0


def test_row_33_an_expired_certificate_is_named(site: Site, tmp_path: Path) -> None:
    identity, _ = make_identity(tmp_path, days=-1)
    url = secure(site, identity)
    with pytest.raises(ClientError, match="certificate"):
        check_token(url, TOKEN)
    assert not site.requests


def test_row_33_a_lab_with_another_certificate_gets_no_request(lab: Lab, tmp_path: Path) -> None:
    identity, _ = make_identity(tmp_path)
    url = secure(lab, identity)
    links = LabLinks(allow_private=True)
    address = LabAddress(lab=lab.id, endpoint=url, certificate="0" * 64)
    with pytest.raises(BadCertificate) as caught:
        links.client(address).get_bytes("/v1/leases/x/manifest")
    assert "certificate" in failure(caught.value).detail
    assert not lab.requests
