"""The scheduler process: one leader at a time, whatever number is started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
from apscheduler.schedulers.background import BackgroundScheduler
from django.db import OperationalError, close_old_connections, connection

from accounts import housekeeping
from gpugoblin_site import logs
from gpugoblin_site.mail import delivery as mail_delivery
from gpugoblin_site.mail import housekeeping as mail_housekeeping
from research_access.services import invitations
from workunits import statistics, sweeps
from workunits.database import run

LOCK = 0x676F626C696E
"""The advisory lock of the leader."""
POLL_S = 0.5
RETRY_S = 1.0
"""Pause before a lost database is asked again."""
MISFIRE_S = 30

_log = logs.logger("scheduler")
_BEAT = """
INSERT INTO workunits_heartbeat (name, beat) VALUES ('scheduler', now())
ON CONFLICT (name) DO UPDATE SET beat = now()"""


def beat() -> int:
    """The sign of life that the site's readiness looks at."""
    return run(_BEAT)


JOBS: dict[str, tuple[Callable[[], int], float]] = {
    "beat": (beat, 5),
    "expire_leases": (sweeps.expire_leases, 2),
    "sweep_closed_jobs": (sweeps.sweep_closed_jobs, 1),
    "probe_labs": (sweeps.probe_labs, 5),
    "lapse_reports": (sweeps.lapse_reports, 60),
    "measure": (statistics.measure, 15),
    "clean_up": (sweeps.clean_up, 3600),
    "clean_up_accounts": (housekeeping.purge, 3600),
    "deliver_mail": (mail_delivery.deliver_due, 3),
    "clean_up_mail": (mail_housekeeping.purge, 3600),
    "clean_up_invitations": (invitations.purge, 3600),
}
"""Name -> what is done, and every how many seconds. Each may be done twice without harm."""


class Scheduler:
    """Waits for the lock, then runs `JOBS` until it is stopped or the lock's connection drops."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run_until_stopped(self) -> None:
        """Lead, or wait to lead, through every loss of the database."""
        while not self._stop.is_set():
            try:
                # This thread's own connection may have ended with the database.
                close_old_connections()
                if self.run():
                    return
            except (psycopg.OperationalError, OperationalError) as error:
                _log.warning("database", error=str(error))
            self._stop.wait(RETRY_S)

    def run(self) -> bool:
        """True when it was stopped; false when the lock was lost: another may lead by now."""
        with _direct_connection() as lock:
            while not self._stop.is_set():
                if _acquired(lock):
                    return self._lead(lock)
                self._stop.wait(POLL_S)
        return True

    def _lead(self, lock: psycopg.Connection[Any]) -> bool:
        scheduler = BackgroundScheduler(timezone="UTC")
        for name, (task, seconds) in JOBS.items():
            scheduler.add_job(
                _guarded(name, task),
                "interval",
                seconds=seconds,
                id=name,
                coalesce=True,
                max_instances=1,
                misfire_grace_time=MISFIRE_S,
            )
        beat()
        scheduler.start()
        _log.info("leading")
        try:
            return self._hold(lock)
        finally:
            scheduler.shutdown(wait=True)

    def _hold(self, lock: psycopg.Connection[Any]) -> bool:
        while not self._stop.wait(POLL_S):
            try:
                lock.execute("SELECT 1")
            except psycopg.Error:
                _log.error("lock lost")
                return False
        return True


def _direct_connection() -> psycopg.Connection[Any]:
    """A connection of its own: the lock belongs to it, and nothing else uses it."""
    known = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port", "sslmode")
    return psycopg.connect(
        **{name: known[name] for name in names if known.get(name)},
        autocommit=True,
        application_name="gpugoblin-scheduler",
    )


def _acquired(lock: psycopg.Connection[Any]) -> bool:
    found = lock.execute("SELECT pg_try_advisory_lock(%s)", (LOCK,)).fetchone()
    return found is not None and bool(found[0])


def _guarded(name: str, task: Callable[[], int]) -> Callable[[], None]:
    """One task that fails must not stop the others; it is tried again at its next time."""

    def run_task() -> None:
        started = time.monotonic()
        try:
            close_old_connections()
            number = task()
        except Exception as error:
            _log.error("failed", task=name, exc_info=error)
        else:
            if number:
                spent = time.monotonic() - started
                _log.debug("done", task=name, number=number, seconds=round(spent, 3))

    return run_task
