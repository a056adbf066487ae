"""The array modules that a device computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy

from opgraph.tensors import Array

SHARE_OF_GPU = 0.8


class DeviceUnusable(Exception):
    """The device cannot compute; the sentence says why."""


class Backend(Protocol):
    xp: Any
    kind: str
    """Kind of the device, as part of its class."""

    def memory(self, allowed: int, /) -> int:
        """Bytes that a unit may use, where the program was allowed `allowed`."""

    def load(self, array: Array) -> Array:
        """The array on the device."""

    def store(self, array: Array, out: Array) -> None:
        """Copy a device array into a numpy array."""

    def finish(self) -> None:
        """Wait until the device has done what it was told."""


@dataclass
class Cpu:
    kind: str
    xp: Any = numpy

    def memory(self, allowed: int, /) -> int:
        return allowed

    def load(self, array: Array) -> Array:
        return array

    def store(self, array: Array, out: Array) -> None:
        if array is not out:
            out[...] = array

    def finish(self) -> None:
        pass


class Gpu:
    """A CUDA device through cupy."""

    def __init__(self, number: int) -> None:
        try:
            import cupy  # type: ignore[import-not-found]
        except Exception as error:
            raise DeviceUnusable(f"cupy cannot be loaded: {error}") from None
        try:
            self._device = cupy.cuda.Device(number)
            self._device.use()
            properties = cupy.cuda.runtime.getDeviceProperties(number)
            self._free = int(self._device.mem_info[0])
        except Exception as error:
            raise DeviceUnusable(f"CUDA device {number} cannot be used: {error}") from None
        self.xp = cupy
        name = properties["name"]
        self.kind = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)

    def memory(self, _allowed: int, /) -> int:
        return int(self._free * SHARE_OF_GPU)

    def load(self, array: Array) -> Array:
        return self.xp.asarray(array)

    def store(self, array: Array, out: Array) -> None:
        array.get(out=out)

    def finish(self) -> None:
        self._device.synchronize()


def open_backend(device: str, kind: str) -> Backend:
    """The backend of `cpu` or `gpuN`. Raises `DeviceUnusable`."""
    return Cpu(kind) if device == "cpu" else Gpu(int(device.removeprefix("gpu")))
