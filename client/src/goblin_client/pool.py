"""The computing processes of this machine's devices."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from goblin_client.compute import messages
from goblin_client.compute.messages import ArrayFile, Report
from goblin_client.compute.process import ComputeProcess
from goblin_client.compute.worker import CANCELLED_EXIT
from goblin_client.scheduling import events
from goblin_client.scheduling.events import Event
from goblin_client.store import KeptResult
from goblin_client.transfer.fetch import Prepared
from goblin_client.transfer.upload import result_file
from goblin_wire.exchange import Lease


class DevicePool:
    """Starts and feeds one process per device; what they say becomes events.

    `memory`: bytes per unit, `threads`: of each process, `released(lease, place)`: an input that
    a unit no longer needs, `awaited(lease, place)`: one that it stands still for.
    """

    def __init__(
        self,
        results: Path,
        memory: int,
        threads: int,
        *,
        post: Callable[[Event], None],
        released: Callable[[str, int], None],
        awaited: Callable[[str, int], None],
    ) -> None:
        self._results = results
        self._memory = memory
        self._threads = threads
        self._post = post
        self._released = released
        self._awaited = awaited
        self._processes: dict[str, ComputeProcess] = {}
        self._given: dict[str, Lease] = {}
        self._refused: set[str] = set()

    def start(self, device: str) -> None:
        """Start the device's process; to be called in the main thread."""
        self._processes[device] = ComputeProcess(
            device,
            self._memory,
            self._threads,
            on_report=lambda report: self._heard(device, report),
            on_exit=lambda status: self._ended(device, status),
        )

    def begin(self, device: str, lease: Lease, prepared: Prepared, blobs: int) -> None:
        """Let the device compute a unit whose first `blobs` inputs are here."""
        self._given[lease.lease] = lease
        manifest = prepared.manifest
        inputs = [
            ArrayFile(path=str(path), dtype=spec.dtype, shape=spec.shape)
            for path, spec in zip(prepared.inputs, manifest.inputs, strict=True)
        ]
        outputs = [
            ArrayFile(
                path=str(result_file(self._results, lease.lease, index)),
                dtype=spec.dtype,
                shape=spec.shape,
            )
            for index, spec in enumerate(manifest.outputs)
        ]
        self._processes[device].send(
            messages.Begin(
                lease=lease.lease,
                graph=str(prepared.graph),
                key=manifest.key,
                inputs=inputs,
                outputs=outputs,
                blobs=blobs,
            )
        )

    def feed(self, device: str, lease: str, blobs: int) -> None:
        self._processes[device].send(messages.Feed(lease=lease, blobs=blobs))

    def cancel(self, device: str, lease: str) -> None:
        self._given.pop(lease, None)
        if device in self._processes:
            self._processes[device].send(messages.Cancel(lease=lease))

    def is_computing(self, lease: str) -> bool:
        """Whether a device has the unit."""
        return lease in self._given

    def pids(self) -> dict[str, int]:
        return {device: process.pid for device, process in self._processes.items()}

    def kill(self) -> None:
        """End all processes at once."""
        for process in self._processes.values():
            process.kill()

    def _heard(self, device: str, report: Report) -> None:
        if isinstance(report, messages.Released):
            self._released(report.lease, report.index)
        elif isinstance(report, messages.Awaiting):
            self._awaited(report.lease, report.index)
        elif isinstance(report, messages.Progress):
            self._post(events.Progressed(device, report.lease, report.share))
        elif isinstance(report, messages.Ready):
            self._post(
                events.DeviceReady(device, report.memory, report.device_class, report.flops_per_s)
            )
        elif isinstance(report, messages.Refused):
            self._refused.add(device)
            self._post(events.DeviceRefused(device, report.detail))
        else:
            self._heard_of_unit(device, report)

    def _heard_of_unit(self, device: str, report: messages.Finished | messages.Failed) -> None:
        lease = self._given.pop(report.lease, None)
        if lease is None:
            return
        if isinstance(report, messages.Failed):
            self._post(events.ComputeFailed(device, report.lease, report.code, report.detail))
            return
        self._post(
            events.Computed(
                device,
                KeptResult(
                    lease=lease,
                    digests=report.digests,
                    sizes=report.sizes,
                    seconds=report.seconds,
                    made=time.time(),
                ),
            )
        )

    def _ended(self, device: str, status: int) -> None:
        for lease, given in list(self._given.items()):
            if given.device == device:
                self._given.pop(lease, None)
        if device not in self._refused:
            code, detail = _why(status)
            self._post(events.DeviceLost(device, code, detail))


def _why(status: int) -> tuple[str, str]:
    if status == CANCELLED_EXIT:
        return "cancelled", ""
    if status == -signal.SIGKILL:
        return "memory", "The system killed the computing process, most likely for its memory."
    if status < 0:
        return "failed", f"The computing process crashed with signal {-status}."
    return "failed", f"The computing process ended with status {status}."
