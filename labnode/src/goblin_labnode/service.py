"""The running lab node: its threads, and how a run goes through them."""

from __future__ import annotations

import logging

from goblin_labnode.events import Follower
from goblin_labnode.housekeeping import Housekeeper
from goblin_labnode.jobs import Jobs
from goblin_labnode.node import Node
from goblin_labnode.phases import WORKING, LeasePhase, UnitPhase
from goblin_labnode.preparing import Preparer, was_cancelled
from goblin_labnode.rota import Rota, Worker
from goblin_labnode.runs import Run
from goblin_labnode.sender import Sender
from goblin_labnode.site_client import SiteClient, WaitClient
from goblin_labnode.verifier import Verifier
from goblin_wire.problems import DigestMismatch, Internal, Problem

_log = logging.getLogger(__name__)


UNITS_FIRST = 16
"""So many units are told of before the checks are prepared: volunteers idle until they know."""


class Service:
    """Everything but the listeners."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._hashing = Rota("panels", self._failed)
        self._checking = Rota("checks", self._failed)
        self.jobs = Jobs(node, self._begin, self._told)
        self.verifier = Verifier(node, self.jobs, self._told)
        self._preparer = Preparer(
            node.database,
            node.secrets.blob_key_bytes,
            self._units_ready,
            self.verifier.again,
        )
        sender = Sender(node, self.jobs, self._client())
        follower = Follower(node, self._client(), WaitClient(), self._told)
        self._sender = Worker("sender", sender.turn)
        self._follower = Worker("events", follower.turn)
        self._housekeeper = Worker("housekeeper", Housekeeper(node, self.jobs).turn)

    def start(self) -> None:
        """Take up what is unfinished; begin to talk to the site."""
        self.node.speed.begin()
        self.jobs.restore()
        for thread in (
            self._hashing,
            self._checking,
            self.verifier,
            self._sender,
            self._follower,
            self._housekeeper,
        ):
            thread.start()

    def stop(self) -> None:
        """Ask all threads to end; they are daemons and hold nothing that a kill would harm."""
        for thread in (
            self._hashing,
            self._checking,
            self.verifier,
            self._sender,
            self._follower,
            self._housekeeper,
        ):
            thread.stop()
        for thread in (self._hashing, self._checking, self.verifier):
            thread.join(2.0)

    def _client(self) -> SiteClient:
        return SiteClient(self.node.config.site, self.node.secrets)

    def _begin(self, run: Run) -> None:
        """Work on an active run: prepare what is missing, judge what was received before."""
        self._restore_uploads(run)
        if run.count(UnitPhase.PLANNED):
            run.checks_wait = True
            self._hashing.add(run.run, self._preparer.units(run))
        else:
            self._checking.add(run.run, self._preparer.checks(run))

    def _restore_uploads(self, run: Run) -> None:
        """Results that were complete, or under way, when the lab node ended."""
        for lease in list(run.leases.values()):
            number = run.numbers[lease.unit]
            waits = lease.state in WORKING and lease.digest is not None
            if not waits or run.units[number].state is UnitPhase.VERIFIED:
                continue
            size = run.graph(number).graph.output_types[0].nbytes
            upload = self.node.uploads.add(lease.lease, size, lease.digest or "")
            try:
                if upload.resume():
                    lease.state = LeasePhase.RECEIVED
            except DigestMismatch:
                _log.info("a result was damaged and has to be sent again")

    def _units_ready(self, run: Run) -> None:
        self.node.note(run)
        self._told()
        planned = run.count(UnitPhase.PLANNED)
        enough = not planned or len(run.units) - planned >= UNITS_FIRST
        if enough and run.checks_wait:
            run.checks_wait = False
            self._checking.add(run.run, self._preparer.checks(run))

    def _told(self) -> None:
        self._sender.wake()

    def _failed(self, key: str, error: Exception) -> None:
        run = self.node.run(key)
        if run is None or was_cancelled(error):
            return
        if isinstance(error, Problem):
            self.jobs.pause(run, error)
            return
        _log.error("a run could not be prepared", exc_info=error)
        self.jobs.pause(run, Internal("The job could not be prepared; see the log."))
