"""`manage.py runscheduler`: the background process; a second one waits until the first is gone."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from workunits.scheduler import Scheduler


class Command(BaseCommand):
    help = "Run the scheduler: lease expiry, sweeps, probes and clean-up."

    def handle(self, *_args: Any, **_options: Any) -> None:
        scheduler = Scheduler()

        def stop(_number: int, _frame: FrameType | None) -> None:
            scheduler.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        scheduler.run_until_stopped()
