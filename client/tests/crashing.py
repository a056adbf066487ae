"""`crashing.py WRITES STATE`: a client that kills itself right after its n-th state write."""

import os
import signal
import sys
from typing import Any

from goblin_client.__main__ import main
from goblin_client.store import Store

left = int(sys.argv[1])


def dying(write: Any) -> Any:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        global left
        found = write(*arguments, **named)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return wrapped


for name in ("set_facts", "keep", "settle"):
    setattr(Store, name, dying(getattr(Store, name)))
sys.exit(main(["run", "--state", sys.argv[2], "--allow-private", "--memory", "512M"]))
