"""One network for all tests that do not break it."""

from collections.abc import Iterator

import pytest

from tests.network import Network


@pytest.fixture(scope="package")
def network() -> Iterator[Network]:
    """Two volunteers with a thread each, shared; leave it as you found it."""
    running = Network()
    with running:
        yield running
        running.check()
