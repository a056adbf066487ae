"""Fixtures of the lab node's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from labnode_rig import LabProcess, SiteDouble


@pytest.fixture
def site() -> Iterator[SiteDouble]:
    double = SiteDouble()
    yield double
    double.close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def lab(tmp_path: Path, site: SiteDouble, data: Path) -> Iterator[LabProcess]:
    process = LabProcess(tmp_path / "lab", site, data)
    process.start()
    yield process
    process.stop()
