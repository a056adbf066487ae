"""Every operator's GPU code on a module that refuses what cupy refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from opgraph.catalogue import OPERATORS
from tests.gpu.stand_in import STAND_IN, Device, Kernel, as_strided, errstate

sys.path.append(str(Path(__file__).parents[2] / "opgraph" / "tests"))

from test_operators import cases, expect, run

IN_KERNELS = ("formula", *(name for name in OPERATORS if name.startswith("random_")))
"""What these give is computed by a kernel, which is not run here."""


@pytest.fixture(autouse=True)
def _cupy_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the catalogue imports of cupy by name."""
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(errstate=errstate))
    places = SimpleNamespace(as_strided=as_strided)
    monkeypatch.setitem(sys.modules, "cupy.lib.stride_tricks", places)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_gpu_code_calls_cupy_as_it_is_declared(name: str) -> None:
    drawn = list(cases(name, times=2))
    # An odd step, so that both draws come in.
    for case in drawn[:: len(drawn) // 8 | 1]:
        results = run(STAND_IN, name, case)  # type: ignore[arg-type]
        if name not in IN_KERNELS:
            expect(name, case, results)


def refused(call: Any, error: type[Exception] = TypeError) -> None:
    with pytest.raises(error):
        call()


def test_what_cupy_refuses_is_refused() -> None:
    ours, theirs = Device(numpy.ones(3)), numpy.ones(3)
    assert (numpy.add(ours, 1).get() == 2).all()
    refused(lambda: numpy.asarray(ours))
    refused(lambda: ours + theirs)
    refused(lambda: numpy.add(theirs, ours))
    refused(lambda: STAND_IN.add(ours, ours, where=ours > 0))
    refused(lambda: STAND_IN.sum(ours, where=ours > 0))
    refused(lambda: STAND_IN.take(ours, ours, mode="clip"))
    refused(lambda: ours.sum(initial=1))
    refused(lambda: STAND_IN.add(ours, 1, out=theirs))
    refused(lambda: STAND_IN.vecdot, AttributeError)
    refused(lambda: ours.tobase, AttributeError)
    refused(lambda: STAND_IN.maximum.reduceat(ours, Device(numpy.array([0]))), NotImplementedError)
    refused(lambda: STAND_IN.sqrt(Device(numpy.ones(3, "complex256"))))


def test_a_kernel_gets_what_it_declares() -> None:
    made = Kernel("T a0, T a1", "T out", "out = a0 + a1;", "sum")
    one = Device(numpy.ones(3, "float32"))
    made(one, one, one)
    assert made.calls == [(("float32", True),) * 3]
    refused(lambda: made(one, one))
    refused(lambda: made(one, numpy.ones(3), one))
    refused(lambda: Kernel("T a0", "raw T out", "", "raw")(one, one), ValueError)
