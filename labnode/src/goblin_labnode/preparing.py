"""Work on a run before results come: hash panels, tell of units, prepare the checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from goblin_labnode.panels import PanelKey, panel_key
from goblin_labnode.phases import UnitPhase
from goblin_labnode.rota import Steps
from goblin_labnode.runs import Run
from goblin_labnode.store.database import Database
from goblin_labnode.store.units import UnitRecord, store_prepared
from goblin_wire.protocol import MIB
from opgraph.errors import ExecutionCancelled
from opgraph.verification.choosing import BlockCheck, check_for, found_sentence, state_bytes

_BATCH_S = 0.01
"""Units that become ready within this time are stored, and told of, together."""
_TOGETHER_BYTES = 128 * MIB
"""The checks of all column blocks are prepared in one pass up to this size."""


class Preparer:
    """Makes the steps for one run after another."""

    def __init__(
        self,
        database: Database,
        blob_key: bytes,
        told: Callable[[Run], None],
        checkable: Callable[[Run], None],
    ) -> None:
        """`told` is called when units were put into the outbox, `checkable` when checks are
        ready."""
        self._database = database
        self._blob_key = blob_key
        self._told = told
        self._checkable = checkable

    def units(self, run: Run) -> Steps:
        """Hash panels in the order of the tiles; units are ready as soon as theirs are."""
        fresh: dict[PanelKey, str] = {}
        ready: list[UnitRecord] = []
        last = 0.0
        for unit in run.units:
            if unit.state is not UnitPhase.PLANNED:
                continue
            for panel in run.plan.panels(run.tile(unit.number)):
                key = panel_key(run.run, panel)
                if key not in run.blobs:
                    run.blobs[key] = fresh[key] = run.hash_panel(panel)
                    yield
            unit.manifest = run.manifest(unit.number).digest
            ready.append(unit)
            if time.monotonic() - last > _BATCH_S:
                self._store(run, fresh, ready)
                last = time.monotonic()
            yield
        self._store(run, fresh, ready)

    def checks(self, run: Run) -> Steps:
        """Draw the secret vectors of every column block and project the inputs on them."""
        blocks = len(run.plan.column_cuts) - 1
        size = blocks * state_bytes(run.plan.dtype, run.plan.m)
        if not run.checks and not run.generations and size <= _TOGETHER_BYTES:
            self._prepare(run, range(blocks))
            yield
        for block in range(blocks):
            if block not in run.checks:
                self._prepare(run, [block])
                yield
        run.record.blind_spot = found_sentence(run.checks.values())
        self._checkable(run)

    def _prepare(self, run: Run, blocks: Sequence[int]) -> None:
        """All blocks, reading A once, or one; the inputs must be the same before and after."""
        began = time.thread_time()
        found = prepare_all(run) if len(blocks) > 1 else [prepare_block(run, blocks[0])]
        run.check_inputs()
        run.checks.update(zip(blocks, found, strict=True))
        run.record.check_seconds += time.thread_time() - began

    def _store(self, run: Run, fresh: dict[PanelKey, str], ready: list[UnitRecord]) -> None:
        if not ready:
            return
        with self._database.transaction() as connection:
            store_prepared(connection, run.run, fresh, ready)
        for unit in ready:
            run.set_state(unit.number, UnitPhase.READY)
        fresh.clear()
        ready.clear()
        self._told(run)


def prepare_all(run: Run) -> Sequence[BlockCheck]:
    """The first checks of all column blocks."""
    left, right = run.matrices()
    return check_for(run.plan.dtype).prepare_all(
        run.record.secret,
        run.plan.column_cuts,
        run.plan.slice_cuts,
        left,
        right,
        cancelled=lambda: not run.active,
    )


def prepare_block(run: Run, block: int) -> BlockCheck:
    """The check of one column block with its current vectors."""
    left, right = run.matrices()
    columns = run.plan.column_cuts[block], run.plan.column_cuts[block + 1]
    return check_for(run.plan.dtype).prepare(
        run.record.secret,
        block,
        columns,
        run.plan.slice_cuts,
        left,
        right,
        generation=run.generations.get(block, (0, 0))[0],
        cancelled=lambda: not run.active,
    )


def was_cancelled(error: Exception) -> bool:
    """Whether preparation ended because the run is not active any more."""
    return isinstance(error, ExecutionCancelled)
