"""`repeat`: a loop with a fixed number of steps, as one small node of a graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import gpugoblin.array as core
from gpugoblin.arrays.axes import whole
from gpugoblin.arrays.building import apply_all, array_of, common_home
from gpugoblin.arrays.dtypes import by_name
from gpugoblin.arrays.evaluation import in_order, record
from gpugoblin.arrays.origin import at, users_line
from gpugoblin.arrays.values import Applied, Leaf, Value
from gpugoblin.errors import BadArgument, DtypeUnsupported, ShapeMismatch

Body = Callable[..., Any]

_CHEAP = frozenset(("full", "full_integers", "broadcast_to", "reshape", "permute_dims"))
"""What makes a number or another view: done in each step, it takes less than being kept."""


def repeat(n: int, body: Body, /, *state: core.Array) -> Any:
    """`state = body(*state)`, `n` times over; the arrays after the last step.

    `body` is called once, with lazy arrays in the shapes and types of the state, and gives as many
    back (an array, or a tuple of several) in the same shapes and types. What else it uses of arrays
    is the same in every step; what of that does not depend on the state is computed once. A loop
    of a thousand steps is a graph as small as that of one step.

    One array of state gives one array, several give a tuple. Raises `BadArgument`,
    `ShapeMismatch`, `DtypeUnsupported`, with your line.

    >>> import gpugoblin
    >>> from gpugoblin import xp
    >>> x = gpugoblin.repeat(3, lambda x: x * 2.0, xp.ones(2))
    >>> x.compute()
    array([8., 8.])
    """
    count = whole(n, "n")
    if count < 0 or not state:
        raise BadArgument("repeat(n, body, *state) takes 0 or more steps, and a state.")
    given = [array_of(each, "The state") for each in state]
    inputs = [_input(each, place) for place, each in enumerate(given)]
    starts = [each.value for each in inputs]
    results = _given_back(body(*inputs), given)
    outputs = [each.value for each in results]
    constants = _constants(outputs, {id(each.source) for each in starts})
    recorded = record(outputs, [*starts, *constants])
    home = common_home([*given, *results])
    operands = [*given, *(core.of_value(home, each) for each in constants)]
    made = apply_all("repeat", operands, {"count": count, "body": recorded.graph})
    loop = made[0].value.source
    assert isinstance(loop, Applied)  # noqa: S101
    loop.application.inside = recorded.applications
    return made[0] if len(made) == 1 else made


def _input(x: core.Array, place: int) -> core.Array:
    leaf = Leaf("", f"state {place} of a loop")
    leaf.key = f"loop {id(leaf)}"
    return core.Array(x.home, x.shape, by_name(x.type.dtype), leaf)


def _given_back(made: Any, given: Sequence[core.Array]) -> list[core.Array]:
    results = list(made) if isinstance(made, tuple | list) else [made]
    if len(results) != len(given) or not all(isinstance(each, core.Array) for each in results):
        raise BadArgument(
            f"The body of repeat() gives back its state, {len(given)} lazy arrays, not"
            f" {len(results)} of {', '.join(type(each).__name__ for each in results)}"
            f"{at(users_line())}."
        )
    for place, (before, after) in enumerate(zip(given, results, strict=True)):
        if before.shape != after.shape:
            raise ShapeMismatch(
                f"State {place} of repeat() is {before.shape} before a step and {after.shape} after"
                f" it{at(users_line())}; a step keeps the shape."
            )
        if before.type.dtype != after.type.dtype:
            raise DtypeUnsupported(
                f"State {place} of repeat() is {before.dtype} before a step and {after.dtype} after"
                f" it{at(users_line())}; a step keeps the element type."
            )
    return results


def _constants(outputs: Sequence[Value], starts: Collection[int]) -> list[Value]:
    """What a step takes and no step changes, each once; `starts` are the sources of the state."""
    changing = _changing(outputs, starts)
    found: dict[tuple[int, int], Value] = {}
    seen: set[int] = set()
    stack = list(outputs)
    while stack:
        value = stack.pop()
        source = value.source
        if id(source) in starts:
            continue
        if not isinstance(source, Applied) or source.kept is not None:
            found.setdefault((id(source), 0), value)
            continue
        made = source.application
        if id(made) not in changing and made.operator not in _CHEAP:
            found.setdefault((id(made), source.position), value)
        elif id(made) not in seen:
            seen.add(id(made))
            stack.extend(reversed(made.operands))
    return list(found.values())


def _changing(outputs: Sequence[Value], starts: Collection[int]) -> set[int]:
    """The applications that depend on the state."""
    changing: set[int] = set()
    for made in in_order(outputs):
        if any(
            id(each.source) in starts
            or (isinstance(each.source, Applied) and id(each.source.application) in changing)
            for each in made.operands
        ):
            changing.add(id(made))
    return changing


__all__ = ["repeat"]
