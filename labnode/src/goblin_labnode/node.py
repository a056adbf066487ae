"""A lab node: its parts, put together, and what they ask each other."""

from __future__ import annotations

import threading

from goblin_labnode.array_uploads import ArrayUploads
from goblin_labnode.arrays import UPLOADED, ArrayRegistry
from goblin_labnode.buffers import Buffers
from goblin_labnode.changes import Changes
from goblin_labnode.config import Config, Folder
from goblin_labnode.keys import Secrets, certificate_digest
from goblin_labnode.lease_uploads import Uploads
from goblin_labnode.outputs import RESULTS
from goblin_labnode.proofs import Proofs
from goblin_labnode.roots import Roots
from goblin_labnode.runs import Run
from goblin_labnode.site_state import SiteState
from goblin_labnode.speed import Speed
from goblin_labnode.store.database import Database
from goblin_labnode.store.runs import RunRecord
from goblin_labnode.store.units import (
    load_generations,
    load_leases,
    load_panels,
    load_units,
)


class Node:
    """State that all parts share. It opens no socket and starts no thread."""

    def __init__(self, folder: Folder, config: Config, secrets: Secrets) -> None:
        folder.create()
        self.folder = folder
        self.config = config
        self.secrets = secrets
        self.database = Database(folder.database)
        own = {UPLOADED: folder.arrays, RESULTS: folder.results}
        self.roots = Roots(config.roots, own)
        self.arrays = ArrayRegistry(self.database, self.roots, secrets.id_key_bytes)
        self.array_uploads = ArrayUploads(folder, self.arrays, secrets.id_key_bytes)
        self.uploads = Uploads(folder.staging, secrets.blob_key_bytes)
        self.buffers = Buffers()
        self.changes = Changes()
        self.proofs = Proofs(folder.proofs)
        offset = float(self.database.recall("site_offset", "0"))
        self.site = SiteState(config.site_keys, offset)
        self.certificate = None if config.plain_http else certificate_digest(folder)
        self.speed = Speed()
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._units: dict[str, Run] = {}

    def close(self) -> None:
        self.proofs.sweep(0.0)
        self.database.close()

    @property
    def loopback(self) -> bool:
        """Whether volunteers are on this machine: development."""
        return self.config.plain_http

    # --- live runs -------------------------------------------------------------------------------
    def runs(self) -> list[Run]:
        """All runs that are not finished."""
        with self._lock:
            return list(self._runs.values())

    def run(self, run: str) -> Run | None:
        with self._lock:
            return self._runs.get(run)

    def run_of_unit(self, unit: str) -> Run | None:
        with self._lock:
            return self._units.get(unit)

    def add(self, record: RunRecord) -> Run:
        """Take an unfinished run among the live ones, with all that is stored of it."""
        run = Run(
            record,
            load_units(self.database, record.run),
            self.secrets.blob_key_bytes,
            self.buffers,
        )
        run.blobs.update(load_panels(self.database, record.run))
        run.leases.update({each.lease: each for each in load_leases(self.database, record.run)})
        run.generations.update(load_generations(self.database, record.run))
        with self._lock:
            self._runs[run.run] = run
            self._units.update(dict.fromkeys(run.numbers, run))
        return run

    def drop(self, run: Run) -> None:
        """Let go of a run that is finished, and of what was staged for it."""
        with self._lock:
            self._runs.pop(run.run, None)
            for unit in run.numbers:
                self._units.pop(unit, None)
        run.close()
        self.uploads.discard(list(run.leases))

    def note(self, run: Run | RunRecord) -> None:
        """People may see something new of this job."""
        job = run.record.job if isinstance(run, Run) else run.job
        self.changes.note(job)

    def note_all(self) -> None:
        for run in self.runs():
            self.note(run)
