"""A network without volunteers of its own: the tests play them."""

from collections.abc import Iterator

import pytest

from tests.adversaries.bench import Bench
from tests.adversaries.cheats import CHEATS, INTEGER_CHEATS
from tests.network import Network

ACCOUNTS = 2 * len(CHEATS) + len(INTEGER_CHEATS) + 21


@pytest.fixture(scope="package")
def bench() -> Iterator[Bench]:
    network = Network(volunteers=ACCOUNTS)
    try:
        network.start_site()
        network.start_lab()
        yield Bench(network)
    finally:
        network.stop()
