"""An operator stops everything: machines and jobs say why, nothing goes out; then all goes on."""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.network import Network
from tests.network.process import run_once

pytestmark = pytest.mark.network

SENTENCE = "Stopped for an hour while the database is moved."
TURN = f"""
import sys, django
django.setup()
from accounts.services import make_operator
from workunits import switches
from workunits.models import Switch, SwitchKind
operator = make_operator("operator@example.org")
if sys.argv[1] == "off":
    words = switches.Words({SENTENCE!r}, "Tạm dừng một giờ để chuyển cơ sở dữ liệu.", "move")
    switches.switch_off(switches.Subject(SwitchKind.EVERYTHING), words, operator)
else:
    switches.lift(Switch.objects.get().pk, "moved", operator)
"""


def turn(network: Network, where: str) -> None:
    site = network.site
    command = [sys.executable, "-c", TURN, where]
    run_once("a switch", command, site.environment, network.places.logs / "switch.log")


def machine_says(network: Network) -> str:
    state = str(network.places.volunteer(1))
    return subprocess.run(
        [sys.executable, "-m", "goblin_client", "status", "--state", state],
        capture_output=True, text=True, check=False, timeout=30, env=network.places.environment(),
    ).stdout  # fmt: skip


def until(told: Callable[[], str], said: str = SENTENCE, *, seconds: float = 30.0) -> None:
    """Return when a text says something; fail with what it says instead."""
    deadline = time.monotonic() + seconds
    while said not in (text := told()):
        assert time.monotonic() < deadline, text
        time.sleep(0.2)


def test_a_switch_is_told_with_the_next_poll_and_lifted_with_the_next() -> None:
    network = Network(volunteers=1)
    try:
        network.start_site()
        turn(network, "off")
        network.start_volunteers()
        network.start_lab()
        until(lambda: machine_says(network))
        a = np.ones((64, 64), np.float32)
        np.save(network.places.data / "a.npy", a)
        lab = network.connect()
        job = (lab.open("a.npy") @ lab.open("a.npy")).submit("stopped")
        until(job.why, SENTENCE.rstrip("."))
        assert f"The site says: {SENTENCE}" in machine_says(network)
        time.sleep(2)
        assert "waiting: The site gives out none of this lab's units" in job.why()
        turn(network, "on")
        assert np.array_equal(job.result(timeout=60), a @ a)
        assert SENTENCE not in machine_says(network)
        network.check()
    finally:
        network.stop()
