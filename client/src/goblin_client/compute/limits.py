"""Holding a computing process to what it may use of the machine."""

from __future__ import annotations

import os
import sys

import psutil

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]

NICENESS = 10
"""Other programs come first, and so does what brings the next inputs."""
SLACK_BYTES = 96 * 1024 * 1024
"""Address space beside the arrays: buffers of BLAS, arenas of the allocator, pipes."""


def give_way() -> None:
    """Let everything else on this machine go before this process."""
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        os.nice(NICENESS)


def limit_memory(memory: int) -> None:
    """Let the address space grow by `memory` bytes from here, no more: what goes beyond raises
    MemoryError. Where the system cannot do that, admission alone keeps the limit."""
    if resource is None:
        return
    allowed = psutil.Process().memory_info().vms + memory + SLACK_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def default_memory() -> int:
    """Half of the machine's memory, in bytes."""
    return int(psutil.virtual_memory().total) // 2
