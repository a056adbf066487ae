"""Graphs that somebody might send to hurt whoever reads them: name -> (bytes, code)."""

from __future__ import annotations

import json
from typing import Any

from opgraph.builder import GraphBuilder

X = {"dtype": "float32", "name": "x0", "shape": [4]}
ONE = (1.0).hex()


def dumped(tree: object) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()


def node(
    operator: Any = "negative",
    operands: Any = (0,),
    attributes: Any = None,
    results: Any = None,
    version: Any = 1,
) -> dict[str, Any]:
    made = [{"dtype": "float32", "shape": [4]}] if results is None else results
    return {
        "attributes": attributes or {},
        "operands": list(operands) if isinstance(operands, tuple) else operands,
        "operator": operator,
        "results": made,
        "version": version,
    }


def graph(*nodes: Any, placeholders: Any = None, outputs: Any = None, catalogue: Any = 1) -> bytes:
    inputs = [X] if placeholders is None else placeholders
    return dumped(
        {
            "catalogue": catalogue,
            "nodes": list(nodes),
            "outputs": [0] if outputs is None else outputs,
            "placeholders": inputs,
        }
    )


def typed(dtype: str, *shape: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape)}


def full(*shape: int, value: str = ONE) -> dict[str, Any]:
    attributes = {"dtype": "float32", "shape": [str(side) for side in shape], "value": value}
    return node("full", (), attributes, [typed("float32", *shape)])


def formula(*program: str) -> dict[str, Any]:
    return node("formula", (0,), {"program": list(program)})


def repeated(count: str, body: Any) -> dict[str, Any]:
    return node("repeat", (0,), {"body": body, "count": count})


def body() -> dict[str, Any]:
    build = GraphBuilder()
    value = build.placeholder("x0", "float32", (4,))
    found: dict[str, Any] = json.loads(build.build(build.apply("negative", value)).to_bytes())
    return found


def nested(times: int) -> bytes:
    inner = body()
    for _ in range(times):
        inner = json.loads(graph(repeated("1", inner), outputs=[1]))
    return dumped(inner)


def big_chain() -> bytes:
    """Each node doubles the tensor that is alive: too much memory, in few bytes."""
    nodes, value = [], 0
    for step in range(40):
        shape = 4 << step
        nodes.append(node("concat", (value, value), {"axis": "0"}, [typed("float32", 2 * shape)]))
        value += 1
    return graph(*nodes, outputs=[value])


GOOD = graph(node(), outputs=[1])
TEXT = GOOD.decode()

BYTES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not_json"),
    "a null byte": (b"\0", "not_json"),
    "not ascii": (GOOD.replace(b"negative", b"n\xc3\xa9gative"), "not_json"),
    "utf-16": (TEXT.encode("utf-16"), "not_json"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, "not_json"),
    "cut short": (GOOD[:-1], "not_json"),
    "something behind": (GOOD + b"{}", "not_json"),
    "white space": (GOOD.replace(b",", b", ", 1), "not_canonical"),
    "a new line behind": (GOOD + b"\n", "not_canonical"),
    "keys in another order": (
        b'{"nodes":[],"catalogue":1,"outputs":[0],"placeholders":[]}',
        "not_canonical",
    ),
    "an escape": (GOOD.replace(b"negative", b"\\u006eegative"), "not_canonical"),
    "a key twice": (GOOD.replace(b'"version":1', b'"version":1,"version":1'), "duplicate_key"),
    "NaN": (GOOD.replace(b'"version":1', b'"version":NaN'), "not_an_integer"),
    "infinity": (GOOD.replace(b'"version":1', b'"version":Infinity'), "not_an_integer"),
    "a float": (GOOD.replace(b'"version":1', b'"version":1.0'), "not_an_integer"),
    "an exponent": (GOOD.replace(b'"version":1', b'"version":1e0'), "not_an_integer"),
    "an integer above 2^53": (
        GOOD.replace(b'"version":1', b'"version":9007199254740993'),
        "integer_too_large",
    ),
    "an integer of 100,000 digits": (
        GOOD.replace(b'"version":1', b'"version":' + b"9" * 100_000),
        "integer_too_large",
    ),
    "deep lists": (b"[" * 200_000, "not_json"),
    "deep objects": (b'{"a":' * 100_000, "not_json"),
    "a deep attribute": (
        GOOD.replace(b'"attributes":{}', b'"attributes":' + b"[" * 5000 + b"]" * 5000),
        "not_json",
    ),
    "17 MiB": (b" " * (17 << 20), "graph_too_long"),
    "a list": (b"[]", "wrong_form"),
    "a number": (b"1", "wrong_form"),
    "null": (b"null", "wrong_form"),
}

STRUCTURE: dict[str, tuple[bytes, str]] = {
    "no nodes key": (dumped({"catalogue": 1, "outputs": [0], "placeholders": [X]}), "wrong_form"),
    "one key more": (
        dumped({**json.loads(GOOD), "__proto__": 1}),
        "wrong_form",
    ),
    "a node that is a list": (graph([]), "wrong_form"),
    "a node with a class": (graph({**node(), "__class__": "os.system"}), "wrong_form"),
    "an operator that is a list": (graph(node(["negative"])), "wrong_form"),
    "an unknown operator": (graph(node("eval")), "unknown_operator"),
    "a dunder": (graph(node("__reduce__")), "unknown_operator"),
    "an operator of 5,000 letters": (graph(node("a" * 5000)), "unknown_operator"),
    "another version": (graph(node(version=2)), "unknown_version"),
    "a version that is true": (graph(node(version=True)), "wrong_form"),
    "a catalogue to come": (graph(node(), catalogue=99), "unknown_catalogue"),
    "catalogue 0": (graph(node(), catalogue=0), "unknown_catalogue"),
    "too many operands": (graph(node(operands=(0, 0))), "wrong_arity"),
    "no operands": (graph(node(operands=())), "wrong_arity"),
    "itself as operand": (graph(node(operands=(1,))), "forward_reference"),
    "a later operand": (graph(node(operands=(99,))), "forward_reference"),
    "a negative operand": (graph(node(operands=(-1,))), "wrong_form"),
    "no output": (graph(outputs=[]), "no_output"),
    "an output that is not there": (graph(outputs=[7]), "unknown_output"),
    "another shape": (graph(node(results=[typed("float32", 5)])), "wrong_result"),
    "another dtype": (graph(node(results=[typed("float64", 4)])), "wrong_result"),
    "two results": (graph(node(results=[typed("float32", 4)] * 2)), "wrong_result"),
    "an object as dtype": (graph(placeholders=[{**X, "dtype": "object"}]), "wrong_dtype"),
    "a string dtype": (graph(placeholders=[{**X, "dtype": "<U10"}]), "wrong_dtype"),
    "a name with a path": (graph(placeholders=[{**X, "name": "../../etc"}]), "wrong_name"),
    "a name of a researcher": (graph(placeholders=[{**X, "name": "patients"}]), "wrong_name"),
    "a name twice": (graph(placeholders=[X, X]), "duplicate_name"),
    "a size of minus one": (graph(placeholders=[{**X, "shape": [-1]}]), "wrong_form"),
    "an attribute too many": (graph(node(attributes={"shell": "true"})), "wrong_form"),
    "no attribute": (graph(node("permute_dims")), "wrong_form"),
    "an attribute that is a dict": (
        graph(node("permute_dims", attributes={"axes": {}})),
        "wrong_form",
    ),
    "axes as numbers": (graph(node("permute_dims", attributes={"axes": [0]})), "wrong_form"),
    "axes with a plus": (
        graph(node("permute_dims", attributes={"axes": ["+0"]}), outputs=[1]),
        "not_canonical",
    ),
    "an axis that is a word": (
        graph(node("permute_dims", attributes={"axes": ["zero"]})),
        "wrong_attributes",
    ),
    "a float in another spelling": (graph(full(4, value="1.0"), outputs=[1]), "not_canonical"),
    "a choice that is none": (
        graph(node("pad", attributes={"after": ["0"], "before": ["0"], "mode": "eval"})),
        "wrong_attributes",
    ),
}

AMPLIFICATION: dict[str, tuple[bytes, str]] = {
    "a placeholder of 2^50 elements": (
        graph(placeholders=[{**X, "shape": [1 << 25, 1 << 25]}]),
        "too_many_elements",
    ),
    "a tensor out of nothing": (graph(full(1 << 21, 1 << 21), outputs=[1]), "too_many_elements"),
    "17 axes": (graph(placeholders=[{**X, "shape": [1] * 17}]), "too_many_axes"),
    "65 axes": (graph(full(*[1] * 65), outputs=[1]), "wrong_attributes"),
    "a spread to 2^41": (
        graph(
            node("broadcast_to", (0,), {"shape": [str(1 << 41)]}, [typed("float32", 1 << 41)]),
            placeholders=[{**X, "shape": [1]}],
        ),
        "too_many_elements",
    ),
    "a range to 2^41": (
        graph(
            node(
                "arange",
                (),
                {"dtype": "int64", "length": str(1 << 41), "start": "0", "step": "1"},
                [typed("int64", 1 << 41)],
            )
        ),
        "too_many_elements",
    ),
    "padding without end": (
        graph(
            node(
                "pad",
                attributes={"after": [str(1 << 41)], "before": ["0"], "mode": "zero"},
                results=[typed("float32", (1 << 41) + 4)],
            )
        ),
        "too_many_elements",
    ),
    "doubling forty times": (big_chain(), "too_many_elements"),
    "50,001 nodes": (graph(*[node()] * 50_001), "too_many_nodes"),
    "50,001 placeholders": (graph(placeholders=[X] * 50_001), "too_many_placeholders"),
    "1,001 outputs": (graph(outputs=[0] * 1001), "too_many_outputs"),
}

PROGRAMS: dict[str, tuple[bytes, str]] = {
    "a repetition without end": (graph(repeated(str(2**62), body())), "too_many_steps"),
    "a repetition of minus one": (graph(repeated("-1", body())), "too_many_steps"),
    "a body that is text": (graph(repeated("1", "x")), "wrong_form"),
    "a body of another type": (
        graph(repeated("1", json.loads(graph(placeholders=[{**X, "shape": [5]}])))),
        "wrong_body",
    ),
    "bodies in bodies": (nested(6), "nested_too_deeply"),
    "a formula with python": (graph(formula("x0", "__import__('os')", "add")), "wrong_formula"),
    "a formula with an attribute": (graph(formula("x0.real")), "wrong_formula"),
    "a formula with a semicolon": (graph(formula("x0", "abs; system", "add")), "wrong_formula"),
    "a formula with a long word": (graph(formula("x0", "a" * 33)), "wrong_attributes"),
    "a formula of 2,000 words": (graph(formula("x0", *["negative"] * 2000)), "wrong_attributes"),
    "a formula that nests": (graph(formula(*["x0"] * 100, *["add"] * 99)), "wrong_formula"),
    "a formula with a decimal": (graph(formula("x0", "1e400", "add")), "wrong_formula"),
    "a formula with a huge exponent": (
        graph(formula("x0", "0x1.0000000000000p+9999", "add")),
        "wrong_formula",
    ),
    "a formula with too little": (graph(formula("add")), "wrong_formula"),
    "a formula that compares": (graph(formula("x0", ONE, "less")), "wrong_formula"),
}

CORPUS = {**BYTES, **STRUCTURE, **AMPLIFICATION, **PROGRAMS}
