"""The post office of the browser tests: the site sends by real SMTP, the tests read what came."""

import re
import threading
import time
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.controller import Controller

from tests.network.addresses import HOST, free_ports

CODE = re.compile(r"\b[0-9]{4} [0-9]{4}\b")
LINK = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Letter:
    """One mail as it arrived."""

    to: str
    subject: str
    text: str

    @property
    def code(self) -> str:
        """The log-in code in its text."""
        found = CODE.search(self.text)
        assert found, self.text
        return found[0]

    @property
    def links(self) -> list[str]:
        """The addresses in its text, in order."""
        return [link.rstrip(".,)>") for link in LINK.findall(self.text)]


class Mailbox:
    """A mail server on the loopback address that keeps everything."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self._letters: list[Letter] = []
        self._arrived = threading.Condition()
        self._server = Controller(self, hostname=HOST, port=self.port)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """Called by aiosmtpd for each mail."""
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        body = mail.get_body(("plain",))
        text = body.get_content() if body is not None else ""
        with self._arrived:
            for to in envelope.rcpt_tos:
                self._letters.append(Letter(to, str(mail["Subject"]), text))
            self._arrived.notify_all()
        return "250 kept"

    def to(self, address: str) -> list[Letter]:
        """What has come for an address."""
        with self._arrived:
            return [letter for letter in self._letters if letter.to.lower() == address.lower()]

    def wait(self, address: str, number: int = 1, seconds: float = 20.0) -> Letter:
        """The mail with this number (from 1) for an address; AssertionError when it stays away."""
        deadline = time.monotonic() + seconds
        while len(found := self.to(address)) < number:
            assert time.monotonic() < deadline, f"{len(found)} mails for {address}, not {number}"
            with self._arrived:
                self._arrived.wait(0.2)
        return found[number - 1]
