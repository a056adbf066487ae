"""The site's probe of a lab's endpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from goblin_wire import codec
from goblin_wire.capability import SigningKey
from goblin_wire.data import ProbeReply, probe_bytes
from goblin_wire.lab import LabHello
from goblin_wire.problems import EndpointRefused
from goblin_wire.protocol import PROTOCOL
from workunits import labs, sweeps
from workunits.models import LabNode
from workunits.tests.world import Researcher, Volunteer

pytestmark = pytest.mark.django_db(transaction=True)


class Listener:
    """A lab's data listener that may lie."""

    def __init__(self, lab: Researcher) -> None:
        self.lab = lab
        self.key: SigningKey = lab.key
        self.location = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        if self.location:
            request.send_response(302)
            request.send_header("Location", self.location)
            request.end_headers()
            return
        nonce = request.path.partition("nonce=")[2]
        lab = self.lab.lab.key.hex
        signature = self.key.sign(probe_bytes(lab, nonce)).hex()
        body = codec.encode(ProbeReply(lab=lab, nonce=nonce, signature=signature))
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def listener(settings: Any) -> Iterator[Listener]:
    settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS = True
    found = Listener(Researcher.make(online=False))
    yield found
    found.close()


def hello(listener: Listener, endpoint: str | None = None) -> LabHello:
    return LabHello(
        protocol=PROTOCOL, public_key=listener.lab.key.public, endpoint=endpoint or listener.url
    )


def test_hello_stores_and_probes(listener: Listener) -> None:
    welcome = labs.hello(listener.lab.principal, hello(listener))
    assert welcome.reachability.reachable
    assert welcome.lab == listener.lab.lab.key.hex
    assert welcome.site_keys
    assert LabNode.objects.get().reachable


def test_a_listener_with_another_key_is_not_the_lab(listener: Listener) -> None:
    listener.key = SigningKey.generate()
    found = labs.hello(listener.lab.principal, hello(listener)).reachability
    assert (found.reachable, found.code) == (False, "endpoint_refused")
    assert Volunteer.make().ask(1).notice_code == "no_jobs"


def test_a_redirect_is_not_followed(listener: Listener) -> None:
    other = Listener(listener.lab)
    listener.location = other.url
    try:
        found = labs.hello(listener.lab.principal, hello(listener)).reachability
    finally:
        other.close()
    assert not found.reachable
    assert "redirect" in found.reason


def test_nobody_there_is_told_and_tried_again(listener: Listener) -> None:
    listener.close()
    found = labs.hello(listener.lab.principal, hello(listener)).reachability
    assert (found.reachable, found.code) == (False, "unreachable")
    LabNode.objects.update(probed_at=None)
    assert sweeps.probe_labs() == 1
    assert sweeps.probe_labs() == 0


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://127.0.0.1:4433",
        "https://192.168.1.1",
        "https://169.254.169.254",
        "https://[::1]:1",
        "https://10.0.0.7:8443",
        "https://0.0.0.0",
        "http://8.8.8.8",
        "ftp://8.8.8.8",
        "https://8.8.8.8/path",
        "https://user@8.8.8.8",
        "nonsense",
    ],
)
def test_an_address_that_is_not_public_is_refused(endpoint: str, settings: Any) -> None:
    settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS = False
    lab = Researcher.make(online=False)
    message = LabHello(
        protocol=PROTOCOL, public_key=lab.key.public, endpoint=endpoint, certificate="ab" * 32
    )
    with pytest.raises(EndpointRefused):
        labs.hello(lab.principal, message)
    assert LabNode.objects.count() == 0


def test_nothing_of_an_unreachable_lab_is_leased() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=1)
    LabNode.objects.update(reachable=False)
    assert volunteer.ask(1).notice_code == "lab_offline"
    LabNode.objects.update(reachable=True)
    assert len(volunteer.ask(1).leases) == 1
