"""Partners and clients for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client.tests.running import Client
from client.tests.servers import TOKEN, Lab, Site
from goblin_client.directory import Membership, StateDirectory


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.close()


@pytest.fixture
def state(tmp_path: Path, site: Site) -> StateDirectory:
    directory = StateDirectory(tmp_path / "state")
    directory.save(Membership(site=site.url, token=TOKEN, label="test"))
    return directory


@pytest.fixture
def run(state: StateDirectory) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def start(*arguments: str, **environment: str) -> Client:
        clients.append(Client(state, *arguments, **environment))
        return clients[-1]

    yield start
    for client in clients:
        client.end()
