"""What a unit reads and writes, as the volunteer is told: ids of blobs, sizes, no names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from goblin_labnode.panels import PanelKey, panel_key
from goblin_wire.blobs import blob_id, digest
from goblin_wire.codec import encode
from goblin_wire.data import InputSpec, Manifest, TensorSpec
from goblin_wire.lab import UnitRegistration
from opgraph.cost import flops
from opgraph.graph import Graph
from opgraph.partition.product import Panel, ProductPlan, Tile


@dataclass(frozen=True)
class GraphBlob:
    """A tile's graph as it travels."""

    graph: Graph
    content: bytes
    blob: str
    flops: int

    @classmethod
    def of(cls, graph: Graph, key: bytes) -> GraphBlob:
        content = graph.to_bytes()
        return cls(graph, content, blob_id(key, content), flops(graph))


@dataclass(frozen=True)
class UnitManifest:
    """The manifest of one unit. `panels`: blob id -> panel."""

    message: Manifest
    graph: GraphBlob
    panels: dict[str, Panel]

    @cached_property
    def content(self) -> bytes:
        return encode(self.message)

    @cached_property
    def digest(self) -> str:
        return digest(self.content)

    @property
    def output_bytes(self) -> int:
        (result,) = self.graph.graph.output_types
        return result.nbytes

    def registration(self, number: int) -> UnitRegistration:
        """What the site is told of the unit."""
        message = self.message
        return UnitRegistration(
            unit=message.unit,
            index=number,
            manifest=self.digest,
            flops=message.flops,
            memory=message.memory,
            input_bytes=message.graph_bytes + sum(each.bytes for each in message.inputs),
            output_bytes=self.output_bytes,
            catalogue=self.graph.graph.catalogue,
        )


def make_manifest(
    unit: str,
    run: str,
    plan: ProductPlan,
    tile: Tile,
    graph: GraphBlob,
    blobs: dict[PanelKey, str],
    key: bytes,
) -> UnitManifest:
    """The manifest of a tile all of whose panels are hashed. `key`: of the lab's blob ids."""
    inputs: list[InputSpec] = []
    panels: dict[str, Panel] = {}
    for placeholder, panel in zip(graph.graph.placeholders, plan.panels(tile), strict=True):
        blob = blobs[panel_key(run, panel)]
        panels[blob] = panel
        inputs.append(
            InputSpec(
                name=placeholder.name,
                blob=blob,
                bytes=panel.nbytes,
                dtype=plan.dtype,
                shape=list(panel.shape),
            )
        )
    outputs = [
        TensorSpec(dtype=each.dtype, shape=list(each.shape)) for each in graph.graph.output_types
    ]
    message = Manifest(
        unit=unit,
        key=key.hex(),
        graph=graph.blob,
        graph_bytes=len(graph.content),
        flops=graph.flops,
        memory=plan.unit_memory_bytes(tile),
        inputs=inputs,
        outputs=outputs,
    )
    return UnitManifest(message, graph, panels)
