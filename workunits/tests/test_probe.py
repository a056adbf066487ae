"""The site's probe of a lab's endpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from goblin_wire import codec
from goblin_wire.capability import SigningKey
from goblin_wire.data import ProbeReply, probe_bytes
from goblin_wire.lab import LabHello, Reachability
from goblin_wire.problems import EndpointRefused, RateLimited
from goblin_wire.protocol import PROTOCOL
from workunits import labs, probe, sweeps
from workunits.models import LabNode
from workunits.tests.world import Researcher, Volunteer

pytestmark = pytest.mark.django_db(transaction=True)


class Listener:
    """A lab's data listener that may lie."""

    def __init__(self, lab: Researcher) -> None:
        self.lab = lab
        self.key: SigningKey = lab.key
        self.location = ""
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
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


# --- a node that moves, and one that asks too often ---------------------------------------------
def test_nothing_is_leased_at_a_new_address_before_it_is_proved(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, volunteer = listener.lab, Volunteer.make()
    labs.hello(lab.principal, hello(listener))
    LabNode.objects.update(window_units=100, window_bytes=2**40)
    lab.job(units=2)
    assert len(volunteer.ask(1).leases) == 1
    leased = []

    def slow(_lab: int) -> Reachability:
        leased.append(len(volunteer.ask(1).leases))
        return Reachability()

    monkeypatch.setattr(labs, "probe", slow)
    moved = LabHello(
        protocol=PROTOCOL,
        public_key=lab.key.public,
        endpoint="https://127.0.0.1:9",
        certificate="ab" * 32,
    )
    labs.hello(lab.principal, moved)
    assert leased == [0]
    assert LabNode.objects.get().probe_code == "not_probed"


@pytest.mark.parametrize("changed", ["public_key", "certificate"])
def test_another_key_or_certificate_is_another_address(listener: Listener, changed: str) -> None:
    said = hello(listener)
    labs.hello(listener.lab.principal, said)
    other = {"public_key": SigningKey.generate().public, "certificate": "cd" * 32}[changed]
    listener.close()
    labs.hello(listener.lab.principal, msgspec.structs.replace(said, **{changed: other}))
    assert not LabNode.objects.get().reachable


def test_a_hello_with_nothing_new_is_answered_with_what_is_known(listener: Listener) -> None:
    labs.hello(listener.lab.principal, hello(listener))
    asked = listener.asked
    for _ in range(30):
        assert labs.hello(listener.lab.principal, hello(listener)).reachability.reachable
    assert listener.asked == asked


def test_a_lab_has_its_address_probed_so_often_a_minute(listener: Listener) -> None:
    labs.hello(listener.lab.principal, hello(listener))
    for _ in range(labs.PROBES.most - 1):
        labs.probe_now(listener.lab.principal.lab)
    with pytest.raises(RateLimited) as refused:
        labs.probe_now(listener.lab.principal.lab)
    assert listener.asked <= labs.PROBES.most
    assert refused.value.retry_after
    moving = hello(listener, "http://127.0.0.1:9")
    with pytest.raises(RateLimited):
        labs.hello(listener.lab.principal, moving)
    assert LabNode.objects.get().endpoint == listener.url
    # Its ordinary hello is never refused.
    LabNode.objects.update(reachable=False, probe_code="unreachable")
    assert labs.hello(listener.lab.principal, hello(listener)).reachability.code == "unreachable"


def test_a_silent_address_holds_nobody_for_long(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "ASKER_WAITS_S", 0.2)
    labs.hello(listener.lab.principal, hello(listener))
    ends = threading.Event()
    monkeypatch.setattr(listener, "answer", lambda _request: ends.wait(20))
    began = time.monotonic()
    answers = [labs.probe_now(listener.lab.principal.lab) for _ in range(5)]
    assert time.monotonic() - began < 1.5
    # What was known stays until the scheduler knows better.
    assert all(each.reachable for each in answers)
    moved = labs.hello(listener.lab.principal, hello(listener, f"{listener.url}/"))
    assert (moved.reachability.reachable, moved.reachability.code) == (False, "not_probed")
    ends.set()
