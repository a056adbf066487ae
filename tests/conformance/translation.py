"""An ONNX graph, node by node, as a graph of our operators.

Whatever ONNX leaves open at run time (axes, shapes, paddings that come as tensors) is known here,
as the test brings its inputs: it is computed by our own executor from the graph so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from opgraph.builder import GraphBuilder
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.tensors import TensorType

DTYPES = {
    onnx.TensorProto.FLOAT: "float32",
    onnx.TensorProto.DOUBLE: "float64",
    onnx.TensorProto.FLOAT16: "float16",
    onnx.TensorProto.BFLOAT16: "bfloat16",
    onnx.TensorProto.BOOL: "bool",
    **{getattr(onnx.TensorProto, name.upper()): name for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    )},
}  # fmt: skip


class Unsupported(Exception):
    """A case that is not run, with the reason."""


def dtype_of(array: Any) -> str:
    """The name of an array's dtype in our catalogue. Raises Unsupported."""
    name = str(array.dtype)
    if name not in DTYPES.values():
        raise Unsupported(f"dtype {name}")
    return name


def storage(array: Any) -> Any:
    """The array as we keep it: bfloat16 by its bits."""
    return array.view(np.uint16) if str(array.dtype) == "bfloat16" else array


class Translation:
    """A graph under construction; ONNX's values by name, ours by number."""

    def __init__(self, model: onnx.ModelProto, inputs: Sequence[Any]) -> None:
        self.graph = model.graph
        self.opset = max(each.version for each in model.opset_import if not each.domain)
        self.build = GraphBuilder()
        self.arrays: dict[str, Any] = {}
        self.values: dict[str, int] = {}
        for each, array in zip(self.graph.input, inputs, strict=True):
            self._placeholder(each.name, array)
        for tensor in self.graph.initializer:
            self._placeholder(tensor.name, numpy_helper.to_array(tensor))
        for node in self.graph.node:
            if node.op_type == "Constant":
                self._placeholder(node.output[0], constant(node))
        self._constants = len(self.arrays)

    def _placeholder(self, name: str, array: Any) -> None:
        if not hasattr(array, "dtype"):
            raise Unsupported("a value that is no tensor")
        placeholder = f"x{len(self.arrays)}"
        self.values[name] = self.build.placeholder(placeholder, dtype_of(array), array.shape)
        self.arrays[placeholder] = storage(np.ascontiguousarray(array).reshape(array.shape))

    # --- building ---------------------------------------------------------------------------------
    def __call__(self, name: str, *values: int, **attributes: Any) -> int:
        return self.build.apply(name, *values, **attributes)

    def all(self, name: str, *values: int, **attributes: Any) -> tuple[int, ...]:
        return self.build.apply_all(name, values, attributes)

    def type(self, value: int) -> TensorType:
        return self.build.type(value)

    def shape(self, value: int) -> tuple[int, ...]:
        return self.type(value).shape

    def dtype(self, value: int) -> str:
        return self.type(value).dtype

    def run(self, *values: int) -> list[Any]:
        """What these values are."""
        graph: Graph = self.build.build(*values)
        used = {each.name for each in graph.placeholders}
        return execute(graph, {name: self.arrays[name] for name in used})

    def known(self, value: int) -> Any:
        """The numbers of a value that decides on shapes."""
        return self.run(value)[0]

    def integers(self, value: int) -> tuple[int, ...]:
        return tuple(int(each) for each in np.atleast_1d(self.known(value)))

    # --- steps that ONNX does silently ------------------------------------------------------------
    def number(self, value: float, like: int) -> int:
        """A number, spread to the type of another value."""
        shape, dtype = self.type(like).shape, self.dtype(like)
        if dtype.startswith(("int", "uint")):
            return self("full_integers", shape=shape, value=int(value), dtype=dtype)
        return self("full", shape=shape, value=float(value), dtype=dtype)

    def reshape(self, value: int, shape: Sequence[int]) -> int:
        return self("reshape", value, shape=tuple(int(side) for side in shape))

    def spread(self, value: int, shape: Sequence[int]) -> int:
        """numpy's broadcasting."""
        shape = tuple(int(side) for side in shape)
        own = self.shape(value)
        if own == shape:
            return value
        value = self.reshape(value, (1,) * (len(shape) - len(own)) + own)
        return self("broadcast_to", value, shape=shape)

    def together(self, *values: int) -> list[int]:
        """All spread to the shape that they have together."""
        shape = np.broadcast_shapes(*map(self.shape, values))
        return [self.spread(value, shape) for value in values]

    def axis(self, axis: int, value: int) -> int:
        return axis % len(self.shape(value))

    def cast(self, value: int, dtype: str) -> int:
        """Through float32 where a 16-bit float is on one side."""
        own = self.dtype(value)
        halves = ("float16", "bfloat16")
        if own == dtype:
            return value
        if (own in halves and dtype != "float32") or (dtype in halves and own != "float32"):
            value = self("astype", value, dtype="float32")
        return value if self.dtype(value) == dtype else self("astype", value, dtype=dtype)

    def scaled(self, value: int, factor: float) -> int:
        return self("multiply", value, self.number(factor, value))

    def plus(self, value: int, number: float) -> int:
        return self("add", value, self.number(number, value))


Lowering = Callable[[Translation, "Node"], Sequence[int] | int]


class Node:
    """One ONNX node: its inputs as our values, its attributes with their defaults."""

    def __init__(self, translation: Translation, proto: onnx.NodeProto) -> None:
        self.name = proto.op_type
        self.inputs = [translation.values[name] if name else None for name in proto.input]
        self.outputs = list(proto.output)
        self._attributes = {
            each.name: onnx.helper.get_attribute_value(each) for each in proto.attribute
        }

    def __getitem__(self, position: int) -> int:
        value = self.get(position)
        if value is None:
            raise Unsupported("an input that is left out")
        return value

    def get(self, position: int) -> int | None:
        return self.inputs[position] if position < len(self.inputs) else None

    def attribute(self, name: str, default: Any = None) -> Any:
        found = self._attributes.get(name, default)
        return found.decode() if isinstance(found, bytes) else found


def constant(node: onnx.NodeProto) -> Any:
    """The array of a `Constant` node."""
    (attribute,) = node.attribute
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if attribute.name.startswith("value_int"):
        return np.array(value, np.int64)
    if attribute.name.startswith("value_float"):
        return np.array(value, np.float32)
    raise Unsupported("a constant that is no tensor")


def translate(
    model: onnx.ModelProto, inputs: Sequence[Any], lowerings: dict[str, Lowering]
) -> list[Any]:
    """The outputs of a model, computed by our operators. Raises Unsupported."""
    for proto in model.graph.node:
        if proto.op_type != "Constant" and proto.op_type not in lowerings:
            raise Unsupported(f"operator {proto.op_type}")
    t = Translation(model, inputs)
    for proto in model.graph.node:
        if proto.op_type == "Constant":
            continue
        node = Node(t, proto)
        made = lowerings[proto.op_type](t, node)
        made = [made] if isinstance(made, int) else list(made)
        if len([name for name in node.outputs if name]) > len(made):
            raise Unsupported("an output that we do not make")
        for name, value in zip(node.outputs, made, strict=False):
            t.values[name] = value
    return t.run(*(t.values[each.name] for each in model.graph.output))
