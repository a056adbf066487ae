"""Whether a paused run may go on: the reason is gone, and the data are what they were."""

from __future__ import annotations

from goblin_labnode.arrays import ArraySource
from goblin_labnode.files import Identity
from goblin_labnode.node import Node
from goblin_labnode.panels import panel_blob, panel_key
from goblin_labnode.phases import UnitPhase
from goblin_labnode.runs import Run
from goblin_wire.problems import FileChanged
from opgraph.partition.product import Panel


def restore_inputs(node: Node, run: Run, tried: set[Identity]) -> None:
    """Accept input files that were put back with the same content.

    Raises the `Problem` that is still there. `tried` keeps files that were compared in vain, so
    that no file is read again and again.
    """
    request = run.record.request
    sides = (
        ("a", request.left, (request.m, request.k)),
        ("b", request.right, (request.k, request.n)),
    )
    found = []
    for operand, array, shape in sides:
        source = node.arrays.get(array)
        identity = source.now(node.roots).identity
        if identity in tried:
            raise FileChanged(f"{source.shown} does not have the content that the job began with.")
        # What was seen to have changed may look the same: times of memory maps lag behind.
        if identity != source.identity or run.record.code == FileChanged.code:
            found.append((operand, source, shape, identity))
    for operand, source, shape, identity in found:
        try:
            _adopt(node, run, operand, source, shape)
        except FileChanged:
            tried.add(identity)
            raise


def _adopt(node: Node, run: Run, operand: str, source: ArraySource, shape: tuple[int, int]) -> None:
    """Compare every panel that was hashed; then the file stands for the array from now on."""
    new = source.now(node.roots)
    matrix = new.matrix(node.roots, shape)
    if new.layout != source.layout:
        raise FileChanged(f"{source.shown} has another shape or type than when the job began.")
    for panel in _hashed(run, operand):
        found = panel_blob(matrix, panel, node.buffers, node.secrets.blob_key_bytes)
        if found != run.blobs[panel_key(run.run, panel)]:
            raise FileChanged(f"{source.shown} does not have the content that the job began with.")
    matrix.check_all()
    node.arrays.adopt(new)
    if run.count(UnitPhase.PLANNED):
        run.checks.clear()


def _hashed(run: Run, operand: str) -> list[Panel]:
    """The panels of one operand whose ids are known."""
    panels = {
        panel_key(run.run, panel): panel
        for tile in run.plan.tiles
        for panel in run.plan.panels(tile)
        if panel.operand == operand
    }
    return [panel for key, panel in panels.items() if key in run.blobs]
