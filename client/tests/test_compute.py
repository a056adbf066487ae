"""The computing process: what it computes, what it says, how it ends."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import psutil
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from client.tests.servers import product_graph
from goblin_client.compute.backends import Cpu, DeviceUnusable, open_backend
from goblin_client.compute.messages import (
    ArrayFile,
    Awaiting,
    Begin,
    Cancel,
    Failed,
    Feed,
    Finished,
    Ready,
    Refused,
    Released,
    next_order,
)
from goblin_client.compute.outputs import OutputMemory, write_output
from goblin_client.compute.probe import PROBE_S, cpu_kind, examine, measure_speed
from goblin_client.compute.process import ComputeProcess
from goblin_client.compute.unit import UnitRun
from goblin_wire.blobs import blob_id
from opgraph.executor import execute

KEY = bytes(32)


def order(
    folder: Path, m: int = 30, k: int = 20, n: int = 10, slices: int = 2, blobs: int | None = None
) -> tuple[Begin, NDArray[Any]]:
    """A unit whose files lie in `folder`, and its result."""
    random = numpy.random.default_rng(1)
    graph = product_graph(m, k, n, slices)
    (folder / "graph").write_bytes(graph.to_bytes())
    inputs, arrays = [], {}
    for each in graph.placeholders:
        array = random.standard_normal(each.type.shape, dtype="float32")
        arrays[each.name] = array
        (folder / each.name).write_bytes(array.tobytes())
        inputs.append(
            ArrayFile(path=str(folder / each.name), dtype="float32", shape=list(array.shape))
        )
    (expected,) = execute(graph, arrays)
    begin = Begin(
        lease="a" * 32,
        graph=str(folder / "graph"),
        key=KEY.hex(),
        inputs=inputs,
        outputs=[ArrayFile(path=str(folder / "out"), dtype="float32", shape=[m, n])],
        blobs=len(inputs) if blobs is None else blobs,
    )
    return begin, expected


class Started:
    """A computing process and what it said."""

    def __init__(self, device: str = "cpu", memory: int = 256 << 20) -> None:
        self.reports: queue.Queue[Any] = queue.Queue()
        self.exits: queue.Queue[int] = queue.Queue()
        self.process = ComputeProcess(
            device, memory, 1, on_report=self.reports.put, on_exit=self.exits.put
        )

    def next(self, kind: type[Any]) -> Any:
        while True:
            report = self.reports.get(timeout=15)
            if isinstance(report, kind):
                return report


@pytest.fixture
def started() -> Iterator[Started]:
    made = Started()
    yield made
    made.process.kill()


def test_a_unit_is_computed_from_files_into_a_file(started: Started, tmp_path: Path) -> None:
    ready = started.next(Ready)
    assert ready.flops_per_s > 1e6
    assert "threads 1" in ready.device_class
    begin, expected = order(tmp_path, blobs=2)
    started.process.send(begin)
    first = {started.next(Released).index for _ in range(2)}
    assert first == {0, 1}
    assert started.next(Awaiting).index == 2
    assert started.reports.empty()
    started.process.send(Feed(lease=begin.lease, blobs=4))
    assert {started.next(Released).index for _ in range(2)} == {2, 3}
    finished = started.next(Finished)
    content = (tmp_path / "out").read_bytes()
    assert numpy.array_equal(numpy.frombuffer(content, "float32").reshape(expected.shape), expected)
    assert finished.digests == [blob_id(KEY, content)]
    assert finished.sizes == [len(content)]


def test_a_unit_that_waits_for_inputs_can_be_cancelled(started: Started, tmp_path: Path) -> None:
    begin, _ = order(tmp_path, blobs=1)
    started.process.send(begin)
    started.next(Ready)
    started.process.send(Cancel(lease=begin.lease))
    other, _ = order(tmp_path)
    started.process.send(Begin(**{**_fields(other), "lease": "b" * 32}))
    assert started.next(Finished).lease == "b" * 32


def _fields(begin: Begin) -> dict[str, Any]:
    return {name: getattr(begin, name) for name in begin.__struct_fields__}


def test_an_input_that_is_gone_is_told(started: Started, tmp_path: Path) -> None:
    begin, _ = order(tmp_path)
    (tmp_path / "b1").unlink()
    started.process.send(begin)
    assert started.next(Failed).code == "input_missing"


def test_memory_is_enforced(tmp_path: Path) -> None:
    begin, _ = order(tmp_path, 4000, 4, 16000, slices=1)
    started = Started(memory=1 << 20)
    try:
        started.process.send(begin)
        assert started.next(Failed).code == "memory"
        assert psutil.pid_exists(started.process.pid)
    finally:
        started.process.kill()


def test_the_process_ends_with_its_pipe() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "goblin_client.compute", str(os.getpid()), "cpu", "100000000", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(15) == 0


def test_a_process_whose_parent_is_gone_already_ends_at_once() -> None:
    child = subprocess.run(
        [sys.executable, "-m", "goblin_client.compute", "1", "cpu", "100000000", "1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=15,
        check=False,
    )
    assert child.returncode == 76


def test_threads_are_set_before_blas_is_loaded(started: Started) -> None:
    started.next(Ready)
    threads = psutil.Process(started.process.pid).num_threads()
    assert threads <= 4
    environment = psutil.Process(started.process.pid).environ()
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"


def test_a_gpu_that_is_not_there_is_told_with_a_reason() -> None:
    started = Started("gpu9")
    try:
        assert "cannot be" in started.next(Refused).detail
    finally:
        started.process.kill()
    with pytest.raises(DeviceUnusable):
        open_backend("gpu9", "")


class Wrong(Cpu):
    """A device that computes one number wrong."""

    def store(self, array: Any, out: Any) -> None:
        super().store(array, out)
        out.flat[5] += 1.0


def test_a_device_that_computes_wrong_does_not_count() -> None:
    with pytest.raises(DeviceUnusable, match="1 of 36864 numbers"):
        examine(Wrong("bad"), 1)


def test_the_fingerprint_is_the_same_every_time() -> None:
    backend = Cpu(cpu_kind())
    assert examine(backend, 1) == examine(backend, 1)
    assert len(examine(backend, 1)) <= 200


def test_the_probe_is_short() -> None:
    measure_speed(Cpu("cpu"), 1)
    began = time.thread_time()
    assert measure_speed(Cpu("cpu"), 1) > 1e6
    assert time.thread_time() - began < PROBE_S + 0.15


def test_progress_is_told_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goblin_client.compute.unit.PROGRESS_S", 0.0)
    begin, _ = order(tmp_path)
    shares: list[float] = []
    UnitRun(
        begin,
        Cpu("cpu"),
        1,
        OutputMemory(),
        wait_for=lambda _index: None,
        cancelled=lambda: False,
        progress=shares.append,
        released=lambda _index: None,
    ).run()
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_empty_axes(tmp_path: Path) -> None:
    begin, _ = order(tmp_path, m=0)
    run = UnitRun(
        begin,
        Cpu("cpu"),
        1,
        OutputMemory(),
        wait_for=lambda _index: None,
        cancelled=lambda: False,
        progress=lambda _share: None,
        released=lambda _index: None,
    )
    assert run.run().sizes == [0]


def test_memory_of_outputs_is_used_again(tmp_path: Path) -> None:
    memory = OutputMemory()
    files = [ArrayFile(path=str(tmp_path / "o"), dtype="float32", shape=[3, 5])]
    (first,) = memory.arrays(files)
    first[...] = 7
    assert (memory.arrays(files)[0] == 7).all()
    (other,) = memory.arrays([ArrayFile(path="", dtype="float64", shape=[2, 0])])
    assert other.shape == (2, 0)


@given(values=arrays("float32", array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_outputs_are_written_whole(values: numpy.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("goblin_client.compute.outputs._PIECE_BYTES", 7)
        path = Path(folder) / "o"
        path.touch()
        file = ArrayFile(path=str(path), dtype="float32", shape=list(values.shape))
        digest = write_output(file, values, bytes(32))
        assert path.read_bytes() == values.tobytes()
        assert digest == blob_id(bytes(32), values.tobytes())


def test_a_message_cut_short_is_the_end(tmp_path: Path) -> None:
    (tmp_path / "pipe").write_bytes(b"\x05\x00\x00\x00ab")
    with (tmp_path / "pipe").open("rb") as pipe:
        assert next_order(pipe) is None
