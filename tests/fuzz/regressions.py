"""Graphs that a fuzzer found a fault with, and the outcome that each must have; each is a seed from
then on.
"""

from __future__ import annotations

from typing import Any

from hostile import graph, node, typed

HUGE = str(2**62)
Typed = dict[str, Any]


def one(
    operator: str, inputs: list[Typed], attributes: dict[str, Any], results: list[Typed]
) -> bytes:
    """A graph of one node; all its results come out."""
    made = node(operator, tuple(range(len(inputs))), attributes, results)
    placeholders = [{**each, "name": f"x{n}"} for n, each in enumerate(inputs)]
    outputs = [len(inputs) + n for n in range(len(results))]
    return graph(made, placeholders=placeholders, outputs=outputs)


def convolved(**other: Any) -> bytes:
    """A convolution that is right but for some of its attributes."""
    given: dict[str, Any] = {"strides": ["1", "1"], "before": ["2", "3"], "after": ["1", "1"]}
    given |= {"dilations": ["1", "1"], "groups": "1", **other}
    operands = [typed("float32", 3, 2, 3, 4), typed("float32", 1, 2, 1, 3)]
    return one("convolution", operands, given, [typed("float32", 3, 1, 6, 6)])


def convolved_to_nothing(**other: Any) -> bytes:
    """A convolution of no channels."""
    given: dict[str, Any] = {
        "strides": ["1"],
        "before": ["2"],
        "after": ["0"],
        "dilations": ["1"],
        "groups": "1",
    }
    places = int((given | other)["before"][0]) + 5
    operands = [typed("float32", 2, 0, 5), typed("float32", 0, 0, 1)]
    return one("convolution", operands, given | other, [typed("float32", 2, 0, places)])


def searched_turned() -> bytes:
    """Where the elements of a table go that lies column by column."""
    line, table, turned = typed("float32", 1), typed("float32", 400, 300), [300, 400]
    back = node("permute_dims", (1,), {"axes": ["1", "0"]}, [typed("float32", *turned)])
    found = node("searchsorted", (0, 2), {"side": "left"}, [typed("int64", *turned)])
    placeholders = [{**line, "name": "x0"}, {**table, "name": "x1"}]
    return graph(back, found, placeholders=placeholders, outputs=[3])


STREAM = [typed("uint64", 2), typed("uint64")]
OUTCOMES: dict[str, tuple[bytes, str]] = {
    # An exception of Python's: the probability times 2^53 fits no word, or is no number.
    "a probability of 2048": (
        one(
            "random_bernoulli",
            STREAM,
            {"probability": (2048.0).hex(), "shape": []},
            [typed("bool")],
        ),
        "refused: wrong_attributes",
    ),
    "a probability that is no number": (
        one("random_bernoulli", STREAM, {"probability": "nan", "shape": []}, [typed("bool")]),
        "refused: wrong_attributes",
    ),
    # numpy has no shape with a side of 2^62, though one of 0 stands beside it.
    "nothing, repeated 2^62 times": (
        one(
            "repeat_elements",
            [typed("float32", 0, 1)],
            {"axis": "0", "count": HUGE},
            [typed("float32", 0, 1)],
        ),
        "right",
    ),
    "nothing, tiled 2^62 times": (
        one("tile", [typed("float32", 0)], {"counts": [HUGE]}, [typed("float32", 0)]),
        "right",
    ),
    # numpy copied the operand in the other dtype, which the model did not know.
    "a running product in another dtype": (
        one(
            "cumulative_prod",
            [typed("int8", 17, 61, 61)],
            {"axis": "0", "dtype": "int64"},
            [typed("int64", 17, 61, 61)],
        ),
        "right",
    ),
    # numpy copied values that lie in another order, which the model did not know.
    "a search for a transposed table": (searched_turned(), "right"),
    # numpy warned of a mean of nothing, and warnings are errors to some.
    "rows without elements": (
        one(
            "rms_norm",
            [typed("float32", 2, 0), typed("float32", 0)],
            {"epsilon": (0.0).hex()},
            [typed("float32", 2, 0), typed("float32", 2)],
        ),
        "right",
    ),
    # Steps that no word of 64 bits holds, once a stride in bytes is made of them.
    "positions 2^64 apart": (
        convolved(dilations=[str(2**64 - 1), "1"]),
        "refused: wrong_shape",
    ),
    "no channels in 2^62 groups": (convolved_to_nothing(groups=HUGE), "refused: wrong_shape"),
    "no channels, padded to 2^31": (convolved_to_nothing(before=[str(2**31 - 8)]), "right"),
}

FOUND = tuple(data for data, _outcome in OUTCOMES.values())
