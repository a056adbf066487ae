"""What the planner makes is never larger than what volunteers read."""

from __future__ import annotations

from goblin_labnode.manifests import GraphBlob, make_manifest
from goblin_labnode.panels import panel_key
from goblin_wire.protocol import MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES
from opgraph.graph import Graph
from opgraph.partition.figures import NetworkFigures
from opgraph.partition.grid import DEEPEST_SLICE, MOST_SLICES
from opgraph.partition.product import plan_product
from opgraph.validation import Limits


def test_the_longest_inner_axis_that_is_planned_is_read_by_clients() -> None:
    network = NetworkFigures(2, 2 << 30, 1e11, 12e6, 2e6)
    plan = plan_product(4, MOST_SLICES * DEEPEST_SLICE, 4, "float32", network)
    assert len(plan.slice_cuts) - 1 == MOST_SLICES
    (tile,) = plan.tiles
    key = bytes(32)
    graph = GraphBlob.of(plan.graph(tile), key)
    assert Graph.from_bytes(graph.content, Limits(file_bytes=MAX_GRAPH_BYTES)) == graph.graph
    blobs = {panel_key("r", panel): f"{i:064x}" for i, panel in enumerate(plan.panels(tile))}
    manifest = make_manifest("0" * 32, "r", plan, tile, graph, blobs, key)
    assert len(manifest.content) <= MAX_MANIFEST_BYTES
