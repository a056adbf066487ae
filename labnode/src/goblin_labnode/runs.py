"""The live side of an unfinished run: open files, ids of panels, units, leases, checks."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator

from goblin_labnode.arrays import ArrayRegistry
from goblin_labnode.buffers import Buffers
from goblin_labnode.manifests import GraphBlob, UnitManifest, make_manifest
from goblin_labnode.matrices import Matrix, matrix_over
from goblin_labnode.output import OutputFile
from goblin_labnode.panels import PanelKey, panel_blob, panel_key, panel_pieces
from goblin_labnode.phases import LeasePhase, Phase, UnitPhase
from goblin_labnode.roots import Roots
from goblin_labnode.store.runs import RunRecord
from goblin_labnode.store.units import LeaseRecord, UnitRecord
from goblin_wire.problems import FileChanged, LeaseEnded
from opgraph.partition.product import Panel, Tile
from opgraph.verification.choosing import BlockCheck

_MANIFESTS_KEPT = 64


class Run:
    """One attempt at a job, while it is not finished. `lock` guards what several threads change."""

    def __init__(
        self,
        record: RunRecord,
        units: list[UnitRecord],
        blob_key: bytes,
        buffers: Buffers,
    ) -> None:
        self.record = record
        self.buffers = buffers
        self.run = record.run
        self.plan = record.plan
        self.lock = threading.RLock()
        self.phase_lock = threading.RLock()
        """Held while the run goes into another phase; may wait for the disk."""
        self.units = units
        self.numbers = {unit.unit: unit.number for unit in units}
        self.leases: dict[str, LeaseRecord] = {}
        self.blobs: dict[PanelKey, str] = {}
        self.checks: dict[int, BlockCheck] = {}
        self.checks_wait = False
        """Whether they are prepared once the first units are told of."""
        self.generations: dict[int, tuple[int, int]] = {}
        self.left: Matrix | None = None
        self.right: Matrix | None = None
        self.output: OutputFile | None = None
        self.held: tuple[str, str] | None = None
        """Code and reason while the site holds the job back."""
        self._blob_key = blob_key
        self._graphs: dict[tuple[int, int], GraphBlob] = {}
        self._manifests: OrderedDict[int, UnitManifest] = OrderedDict()
        self._counts = Counter(unit.state for unit in units)
        self.flops_verified = sum(unit.flops for unit in units if unit.state is UnitPhase.VERIFIED)

    # --- files ---------------------------------------------------------------------------------
    def open(self, arrays: ArrayRegistry, roots: Roots) -> None:
        """Open inputs and output. Raises `Problem` where one is gone or not what it was."""
        request = self.record.request
        left, right = arrays.get(request.left), arrays.get(request.right)
        files = left.open(roots), right.open(roots)
        for file in files:
            file.check()
        if self.left is None or self.right is None:
            self.left = matrix_over(files[0], left.layout, (request.m, request.k))
            self.right = matrix_over(files[1], right.layout, (request.k, request.n))
        # Checks that are prepared read through these same matrices.
        self.left.reopen(files[0])
        self.right.reopen(files[1])
        self.output = OutputFile(self.record.output, roots, (request.m, request.n))

    def close(self) -> None:
        """Let go of the output."""
        self.output = None

    def matrices(self) -> tuple[Matrix, Matrix]:
        """The open inputs. Raises `LeaseEnded` where the job is not running."""
        if self.left is None or self.right is None:
            raise LeaseEnded("The job is not running.")
        return self.left, self.right

    def check_inputs(self) -> None:
        """Raise `FileChanged`, `FileTruncated` or `FileMissing` if an input is not what it was."""
        for matrix in (self.left, self.right):
            if matrix is not None:
                matrix.check_all()

    def glance_at_inputs(self) -> None:
        """The same for who asks every few seconds: with very many files not every time."""
        for matrix in (self.left, self.right):
            if matrix is not None:
                matrix.check_rarely()

    def check_panels(self, tile: Tile) -> None:
        """Raise `FileChanged` unless what the tile reads is still what volunteers were given.

        Size and time do not tell every change: a memory map's writes show late in the time.
        """
        for panel in self.plan.panels(tile):
            if self.hash_panel(panel) != self.blobs[panel_key(self.run, panel)]:
                self.checks.clear()  # they may be of the changed content
                name = self._matrix(panel).name
                raise FileChanged(f"{name} was changed while a job used it.")

    def hash_panel(self, panel: Panel) -> str:
        """The id of the panel as it lies in the file now. Raises as `panel_pieces` does."""
        return panel_blob(self._matrix(panel), panel, self.buffers, self._blob_key)

    def panel_pieces(
        self, panel: Panel, span: tuple[int, int] | None = None
    ) -> Iterator[memoryview]:
        """The panel's bytes, all or those of `span`, as they lie in the file now."""
        return panel_pieces(self._matrix(panel), panel, self.buffers, span)

    def _matrix(self, panel: Panel) -> Matrix:
        return self.matrices()[0 if panel.operand == "a" else 1]

    # --- units ---------------------------------------------------------------------------------
    @property
    def active(self) -> bool:
        return self.record.phase is Phase.ACTIVE

    def tile(self, number: int) -> Tile:
        return self.plan.tiles[number]

    def graph(self, number: int) -> GraphBlob:
        tile = self.tile(number)
        with self.lock:
            found = self._graphs.get(tile.shape)
            if found is None:
                found = GraphBlob.of(self.plan.graph(tile), self._blob_key)
                self._graphs[tile.shape] = found
            return found

    def manifest(self, number: int) -> UnitManifest:
        """Of a unit whose panels are hashed."""
        with self.lock:
            found = self._manifests.get(number)
            if found is None:
                found = make_manifest(
                    self.units[number].unit,
                    self.run,
                    self.plan,
                    self.tile(number),
                    self.graph(number),
                    self.blobs,
                    self._blob_key,
                )
                self._manifests[number] = found
                if len(self._manifests) > _MANIFESTS_KEPT:
                    self._manifests.popitem(last=False)
            return found

    def count(self, state: UnitPhase) -> int:
        return self._counts[state]

    def set_state(self, number: int, state: UnitPhase) -> None:
        """Move a unit on; one that is verified stays so."""
        with self.lock:
            unit = self.units[number]
            if unit.state in (UnitPhase.VERIFIED, state):
                return
            self._counts[unit.state] -= 1
            self._counts[state] += 1
            unit.state = state
            if state is UnitPhase.VERIFIED:
                self.flops_verified += unit.flops

    @property
    def verified(self) -> int:
        return self.count(UnitPhase.VERIFIED)

    def leases_on(self, unit: str) -> list[LeaseRecord]:
        with self.lock:
            return [lease for lease in self.leases.values() if lease.unit == unit]

    def leased_units(self) -> set[str]:
        """Units that somebody works on now."""
        with self.lock:
            return {
                lease.unit
                for lease in self.leases.values()
                if lease.state is LeasePhase.OPEN and self._unverified(lease.unit)
            }

    def received_units(self) -> set[str]:
        """Units whose result is here and not judged yet."""
        with self.lock:
            return {
                lease.unit
                for lease in self.leases.values()
                if lease.state is LeasePhase.RECEIVED and self._unverified(lease.unit)
            }

    def _unverified(self, unit: str) -> bool:
        number = self.numbers.get(unit)
        return number is not None and self.units[number].state is not UnitPhase.VERIFIED
