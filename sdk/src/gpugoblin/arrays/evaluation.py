"""From lazy arrays to one operator graph, and to numbers in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy
from numpy.typing import NDArray

from goblin_wire.protocol import INLINE_BYTES
from gpugoblin import words
from gpugoblin.arrays.building import LIMITS
from gpugoblin.arrays.origin import at
from gpugoblin.arrays.values import Application, Applied, Leaf, Value, leaf_of
from gpugoblin.errors import ComputationFailed, MemoryTooSmall, TooLarge, UnsupportedComputation
from opgraph.catalogue import OPERATORS
from opgraph.errors import ComputationError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.nodes import Node, Placeholder
from opgraph.tensors import Shape, TensorType, storage_dtype

Identity: TypeAlias = tuple[str, Shape, str]


class Recorded(NamedTuple):
    """A graph, the leaf of each placeholder, and the application that each node is."""

    graph: Graph
    leaves: dict[str, Leaf]
    applications: list[Application]


def record(values: Sequence[Value], given: Sequence[Value] = ()) -> Recorded:
    """One graph for all of the values; what they share is computed once.

    Nodes stand in the order in which the values need them, whatever order they were written in.
    `given` are the first placeholders, in this order: what they are made of is not looked at.
    Raises `TooLarge` above the number of nodes that a graph may have, and
    `UnsupportedComputation` for a product at a lab.
    """
    numbers = {_identity(value): place for place, value in enumerate(given)}
    applications = list(in_order(values, frozenset(numbers)))
    leaves: dict[Identity, Leaf] = {}
    for value in _operands(values, applications):
        leaf = leaf_of(value)
        if _identity(value) in numbers:
            continue
        if leaf is not None:
            leaves.setdefault(_identity(value), leaf)
        elif not isinstance(value.source, Applied):
            raise UnsupportedComputation(f"{value.source.label} is computed by a lab alone.")
    return _written(values, applications, leaves, given)


def in_order(
    values: Iterable[Value], given: Collection[Identity] = frozenset()
) -> Iterable[Application]:
    """Every application that the values need, after those that it needs itself.

    What only `given` values need is left out. Raises `TooLarge`.
    """
    done: set[int] = set()
    count = 0
    stack = [(each, False) for each in reversed(_open_ones(values, given))]
    while stack:
        application, ready = stack.pop()
        if id(application) in done:
            continue
        if ready:
            done.add(id(application))
            count += 1
            _check_count(count, application)
            yield application
            continue
        stack.append((application, True))
        stack.extend(
            (each, False)
            for each in reversed(_open_ones(application.operands, given))
            if id(each) not in done
        )


def _open_ones(values: Iterable[Value], given: Collection[Identity]) -> list[Application]:
    return [
        each.source.application
        for each in values
        if isinstance(each.source, Applied)
        and each.source.kept is None
        and not (given and _identity(each) in given)
    ]


def _check_count(count: int, application: Application) -> None:
    if count > LIMITS.nodes:
        raise TooLarge(
            f"This computation has more than {LIMITS.nodes:,} operations, which is the most that"
            f" one graph may have (the last one that fits was written{at(application.line)})."
            " Write a loop as gpugoblin.repeat, or compute a part of it first and go on with"
            " gpugoblin.local.array(x.compute())."
        )


def _operands(values: Iterable[Value], applications: Iterable[Application]) -> Iterable[Value]:
    yield from values
    for application in applications:
        yield from application.operands


def _identity(value: Value) -> Identity:
    """Equal for values that are the same one."""
    source, leaf = value.source, leaf_of(value)
    if leaf is None and isinstance(source, Applied):
        return str(id(source.application)), (source.position,), "applied"
    return leaf.key if leaf else str(id(source)), value.type.shape, value.type.dtype


def _written(
    values: Sequence[Value],
    applications: list[Application],
    leaves: dict[Identity, Leaf],
    given: Sequence[Value],
) -> Recorded:
    count = len(given) + len(leaves)
    if count > LIMITS.placeholders:
        raise TooLarge(
            f"This computation has {count:,} inputs; a graph may have"
            f" {LIMITS.placeholders:,}. Put arrays together first, with numpy.stack."
        )
    numbers: dict[Identity, int] = {
        identity: place for place, identity in enumerate([*map(_identity, given), *leaves])
    }
    first = count
    for application in applications:
        for position in range(len(application.results)):
            numbers.setdefault((str(id(application)), (position,), "applied"), first + position)
        first += len(application.results)
    types = [*(each.type for each in given), *map(_type, leaves)]

    def number(value: Value) -> int:
        return numbers[_identity(value)]

    return Recorded(
        Graph(
            tuple(Placeholder(f"x{place}", type_) for place, type_ in enumerate(types)),
            tuple(_node(each, number) for each in applications),
            tuple(map(number, values)),
            max((OPERATORS[each.operator].since for each in applications), default=1),
        ),
        {f"x{place}": leaf for place, leaf in enumerate(leaves.values(), len(given))},
        applications,
    )


def _type(identity: Identity) -> TensorType:
    return TensorType(identity[2], identity[1])


def _node(application: Application, number: Callable[[Value], int]) -> Node:
    return Node(
        application.operator,
        tuple(map(number, application.operands)),
        application.results,
        application.attributes,
        OPERATORS[application.operator].version,
    )


def computed(values: Sequence[Value]) -> list[NDArray[Any]]:
    """The numbers of all of the values, by one graph in this process; 16-bit floats as stored.

    What lies there already is handed out as it is, everything else in memory of its own. Raises
    `ComputationFailed`, which names the operator, its operands and the user's line, where the
    numbers do not allow what was asked, and `MemoryTooSmall`.
    """
    open_ones = [each for each in values if not isinstance(each.source, Leaf)]
    made = iter(_run(record(open_ones)) if open_ones else ())
    return [_content(each) if isinstance(each.source, Leaf) else next(made) for each in values]


def on_demand(value: Value) -> NDArray[Any]:
    """The numbers of one value, asked for in passing.

    They are kept, and so is what they are parts of or made from, if it is small: a program that
    asks for one element after the other computes what they are elements of once.
    """
    if not isinstance(value.source, Applied) or value.source.kept is not None:
        return _content(value)
    below = (base for each in value.source.application.operands for base in _bases(each))
    small = [each for each in dict.fromkeys(below) if each.type.nbytes <= INLINE_BYTES]
    made = computed([value, *small])
    for each, numbers in zip([value, *small], made, strict=True):
        _keep(each, numbers)
    return made[0]


def _bases(value: Value) -> Iterable[Value]:
    """What a value shows parts of: the first values below it that are no views, not yet there."""
    stack = [value]
    while stack:
        source = (top := stack.pop()).source
        if not isinstance(source, Applied) or source.kept is not None:
            continue
        if OPERATORS[source.application.operator].view:
            stack.extend(source.application.operands)
        else:
            yield top


def _keep(value: Value, numbers: NDArray[Any]) -> None:
    # A constant is one value for all who write that number, and is made as fast as it is read.
    if isinstance(value.source, Applied) and value.source.application.operands:
        numbers.flags.writeable = False
        value.source.kept = Leaf(f"kept {id(value.source)}", value.source.label, numbers)


def _run(recorded: Recorded) -> list[NDArray[Any]]:
    inputs = {name: _stored(leaf, recorded, name) for name, leaf in recorded.leaves.items()}
    need, there = peak_bytes(recorded.graph), _memory_bytes()
    if need > there:
        # Where memory is promised freely the allocation would not fail: the process would be ended.
        raise MemoryTooSmall(
            f"The computation needs {words.size(need)} of memory at once, and this machine has"
            f" {words.size(there)}. Compute it in parts."
        )
    try:
        made = execute(recorded.graph, inputs, threads=os.cpu_count() or 1)
    except ComputationError as error:
        raise _at_users_line(error, recorded.applications) from None
    except MemoryError:
        raise MemoryTooSmall(
            f"The computation needs {words.size(need)} of memory at once, more than this machine"
            " gave. Compute it in parts."
        ) from None
    return [numpy.asarray(each) for each in made]


@cache
def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _at_users_line(error: ComputationError, inside: Sequence[Application]) -> ComputationFailed:
    for node in error.path or (0,):
        application = inside[node]
        inside = application.inside
    return ComputationFailed(
        f"{application}{at(application.line)}: {error.reason}",
        reason=error.code,
        operator=application.operator,
        line=str(application.line) if application.line else "",
    )


def _content(value: Value) -> NDArray[Any]:
    leaf = leaf_of(value)
    if leaf is None or leaf.content is None:
        raise UnsupportedComputation(f"The numbers of {value.source.label} are not here.")
    return leaf.content


def _stored(leaf: Leaf, recorded: Recorded, name: str) -> Callable[[], NDArray[Any]]:
    type_ = recorded.graph.placeholders[int(name[1:])].type

    def load() -> NDArray[Any]:
        # A file's numbers are brought to this machine's byte order when they are first needed.
        content = _content(Value(leaf, type_))
        return numpy.asarray(content, storage_dtype(type_.dtype))

    return load
