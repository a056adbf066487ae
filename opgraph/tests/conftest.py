"""Fixtures of all tests of opgraph."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy
import pytest
from hypothesis import settings

sys.path.append(str(Path(__file__).parent))

# The machine may be busy with other tests: how long an example takes says nothing.
settings.register_profile("opgraph", deadline=None)
settings.load_profile("opgraph")


def _cupy() -> ModuleType:
    cupy = import_module("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("There is no GPU.")
    return cupy


MODULES = ["numpy", "cupy"] if find_spec("cupy") else ["numpy"]


@pytest.fixture(params=MODULES)
def xp(request: pytest.FixtureRequest) -> ModuleType:
    """An array module: tests that take it run on each that this machine has."""
    return numpy if request.param == "numpy" else _cupy()
