"""Fixtures of the lab node's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from labnode_rig import LabProcess, SiteDouble


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    """One lab node and its site for all tests of a module."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "data").mkdir()
    site = SiteDouble()
    process = LabProcess(folder / "lab", site, folder / "data")
    process.start()
    yield process
    process.stop()
    site.close()


@pytest.fixture
def lab(shared: LabProcess, request: pytest.FixtureRequest) -> LabProcess:
    """The shared lab node; the test has a folder of its own in the root."""
    shared.prefix = f"{abs(hash(request.node.nodeid)):x}"
    (shared.data / shared.prefix).mkdir()
    shared.site.forget()
    return shared


@pytest.fixture
def site(lab: LabProcess) -> SiteDouble:
    return lab.site


@pytest.fixture
def data(lab: LabProcess) -> Path:
    """The test's folder."""
    return lab.data / lab.prefix


@pytest.fixture
def own_lab(tmp_path: Path) -> Iterator[LabProcess]:
    """A lab node that the test may kill."""
    (tmp_path / "data").mkdir()
    site = SiteDouble()
    process = LabProcess(tmp_path / "lab", site, tmp_path / "data")
    process.start()
    yield process
    process.stop()
    site.close()
