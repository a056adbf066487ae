"""Python loads this first in the volunteers of a round: each computation is noted and takes longer.

So a job lasts as long as kills need to meet it, without the processor that other tests use.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any


def _slow_down() -> None:
    from goblin_client.compute import unit

    run = unit.UnitRun.run

    def noted(self: Any) -> Any:
        with Path(os.environ["ROUND_NOTES"]).open("a") as notes:
            notes.write(f"{time.time():.6f} {self._order.lease}\n")
        time.sleep(float(os.environ["ROUND_PAUSE"]))
        return run(self)

    unit.UnitRun.run = noted  # type: ignore[method-assign]


if "goblin_client.compute" in sys.orig_argv:
    _slow_down()
