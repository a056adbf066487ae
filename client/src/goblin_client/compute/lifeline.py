"""A child that does not outlive its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
ORPHANED = 76


def die_with(parent: int) -> None:
    """Have the kernel end this process when process `parent` ends, however that happens.

    Elsewhere than on Linux the end of the pipe does it (see `worker`).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ORPHANED)
