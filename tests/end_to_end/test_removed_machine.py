"""Somebody removes a machine on the site: it ends by itself, and the others finish its work."""

import sys
import time

import numpy as np
import pytest

from tests.network import Network
from tests.network.process import run_once

pytestmark = pytest.mark.network

REMOVE = """
import django
django.setup()
from workunits import removal
from workunits.models import Host
host = Host.objects.get(label="volunteer-1")
assert removal.remove(host.account_id, host.uid)
"""


def test_it_ends_and_leaves_nothing_and_the_job_is_done_by_the_others() -> None:
    network = Network(volunteers=2)
    try:
        network.start()
        a = np.arange(1024 * 1024, dtype=np.float32).reshape(1024, 1024) % 7
        np.save(network.places.data / "a.npy", a)
        lab = network.connect()
        job = (lab.open("a.npy") @ lab.open("a.npy")).submit("shared")
        site = network.site
        command = [sys.executable, "-c", REMOVE]
        run_once("a removal", command, site.environment, network.places.logs / "removal.log")
        machine = network.processes.pop("volunteer-1")
        deadline = time.monotonic() + 60  # idle, it waits at the site for 25 s
        while machine.alive():
            assert time.monotonic() < deadline, machine.last_words()
            time.sleep(0.1)
        assert "removed on the site; join again" in machine.last_words()
        assert not network.places.volunteer(1).exists()
        assert np.array_equal(job.result(timeout=90), a @ a)
        network.check()
    finally:
        network.stop()
