"""Whole networks of real processes on the loopback address.

One harness for `make demo`, `make up`, `make faults`, the benchmarks and the end-to-end tests:

    with Network(volunteers=2) as network:
        lab = network.connect()
        network.kill("volunteer-1")
        network.restart("volunteer-1")
"""

from tests.network.errors import NetworkError
from tests.network.network import Network
from tests.network.process import Process

__all__ = ["Network", "NetworkError", "Process"]
