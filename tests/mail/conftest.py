"""A mail server on loopback that tests can stop, start, and make misbehave."""

from __future__ import annotations

import asyncio
import email.policy
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_django import Settings

SMTP_BACKEND = "gpugoblin_site.mail.smtp.EmailBackend"


class Post:
    """Keeps what it was given; `refuse` holds answers to give instead, by stage."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.mails: list[EmailMessage] = []
        self.senders: list[str] = []
        self.refuse: dict[str, str] = {}
        self.hang_up_after_text = False
        self.options: dict[str, Any] = {}
        self._controller: Controller | None = None

    def start(self) -> None:
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **self.options)
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop(no_assert=True)
            self._controller = None

    async def handle_MAIL(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if "mail" in self.refuse:
            return self.refuse["mail"]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if "rcpt" in self.refuse:
            return self.refuse["rcpt"]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:
        if "data" in self.refuse:
            return self.refuse["data"]
        content = envelope.content
        assert isinstance(content, bytes)
        self.mails.append(message_from_bytes(content, policy=email.policy.default))
        self.senders.append(envelope.mail_from or "")
        if self.hang_up_after_text:
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return "250 taken"

    @property
    def recipients(self) -> list[str]:
        return [str(mail["To"]) for mail in self.mails]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def post(settings: Settings) -> Iterator[Post]:
    """A mail server that runs, and the settings that name it."""
    server = Post()
    settings.EMAIL_BACKEND = SMTP_BACKEND
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = server.port
    settings.EMAIL_TIMEOUT = 5
    server.start()
    yield server
    server.stop()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, both in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + signed.public_bytes(pem))
    return file
