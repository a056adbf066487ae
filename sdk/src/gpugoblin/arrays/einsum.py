"""`einsum`: sums of products in Einstein's notation, as transposes and products of matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import gpugoblin.array as core
from gpugoblin.arrays import statistics
from gpugoblin.arrays.building import apply, array_of, of_kind, same_type
from gpugoblin.arrays.dtypes import NUMERIC
from gpugoblin.arrays.indexing import permuted, shaped
from gpugoblin.errors import BadArgument, ShapeMismatch
from opgraph.tensors import Shape

MOST_OPERANDS = 32
LONGEST = 1024
"""Characters of the subscripts."""

Labels = tuple[str, ...]


class Term(NamedTuple):
    """An array and the label of each of its axes, each once."""

    array: core.Array
    labels: Labels


def einsum(subscripts: str, /, *operands: core.Array) -> core.Array:
    """The sum of products over the axes whose letters are not in the result: `ij,jk->ik`.

    As numpy: a letter twice in one operand is its diagonal, `...` stands for further axes that
    broadcast, and without `->` the result has the letters that come once, in order of the
    alphabet. Operands are multiplied two at a time, the pair that takes the fewest operations
    first. Integers wrap modulo 2^w. Raises `BadArgument` and `ShapeMismatch`.
    """
    arrays = same_type(*(of_kind("einsum", array_of(each), NUMERIC) for each in _some(operands)))
    inputs, output = parsed(subscripts, [each.ndim for each in arrays])
    sizes = _sizes(inputs, [each.shape for each in arrays])
    terms = [_plain(Term(*each), sizes) for each in zip(arrays, inputs, strict=True)]
    while len(terms) > 1:
        first, second = _cheapest(terms, output, sizes)
        rest = [each for place, each in enumerate(terms) if place not in (first, second)]
        terms = [*rest, _product(terms[first], terms[second], _needed(rest, output))]
    return _finished(terms[0], output)


def _some(operands: Sequence[core.Array]) -> Sequence[core.Array]:
    if not 0 < len(operands) <= MOST_OPERANDS:
        raise BadArgument(f"einsum() is of 1 to {MOST_OPERANDS} arrays, not {len(operands)}.")
    return operands


# --- the notation ---------------------------------------------------------------------------------
def parsed(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of the axes of each operand, and of the result. Raises `BadArgument`.

    Axes that `...` stands for are labelled by their place from the end: `.1` is the last of them.
    """
    if not isinstance(subscripts, str) or len(subscripts) > LONGEST:
        raise BadArgument(f"Subscripts are text of at most {LONGEST} characters.")
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise BadArgument(f"{subscripts!r} is for {len(parts)} operands; there are {len(ranks)}.")
    inputs = [_labels(part, rank) for part, rank in zip(parts, ranks, strict=True)]
    most = max(sum(label[0] == "." for label in each) for each in inputs)
    dots = tuple(f".{place}" for place in range(most, 0, -1))
    output = _explicit(right, dots, inputs) if arrow else _implicit(dots, inputs)
    return inputs, output


def _labels(part: str, rank: int) -> Labels:
    before, dots, after = part.partition("...")
    _check_letters(part, before + after)
    further = rank - len(before + after)
    if further < 0 or (further and not dots):
        raise BadArgument(f"{part!r} does not name the {rank} axes of its operand.")
    return (*before, *(f".{place}" for place in range(further, 0, -1)), *after)


def _check_letters(part: str, letters: str) -> None:
    for each in letters:
        if not (each.isascii() and each.isalpha()):
            raise BadArgument(f"{part!r}: an axis is named by a letter, not by {each!r}.")


def _explicit(part: str, dots: Labels, inputs: Iterable[Labels]) -> Labels:
    before, found, after = part.partition("...")
    _check_letters(part, before + after)
    if dots and not found:
        raise BadArgument(f"The result {part!r} leaves out the axes of `...`; write it there, too.")
    output = (*before, *dots, *after)
    known = {label for each in inputs for label in each}
    for label, count in Counter(output).items():
        if count > 1 or label not in known:
            fault = "comes twice" if count > 1 else "is in no operand"
            raise BadArgument(f"{label!r} {fault}: {part!r} is no result.")
    return output


def _implicit(dots: Labels, inputs: Iterable[Labels]) -> Labels:
    counts = Counter(label for each in inputs for label in each if label[0] != ".")
    return (*dots, *sorted(label for label, count in counts.items() if count == 1))


def _sizes(inputs: Iterable[Labels], shapes: Iterable[Shape]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, length in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, length) and known != length:
                raise ShapeMismatch(
                    f"einsum(): the axes named {label!r} have the lengths {known} and {length}."
                )
            sizes[label] = length if known == 1 else known
    return sizes


# --- arrays ---------------------------------------------------------------------------------------
def _plain(term: Term, sizes: Mapping[str, int]) -> Term:
    """Each label once, and none whose axis has length 1 here and another one elsewhere."""
    while repeated := [label for label, count in Counter(term.labels).items() if count > 1]:
        term = _diagonal(term, repeated[0])
    array, labels = term
    kept = tuple(
        label for label, length in zip(labels, array.shape, strict=True) if length == sizes[label]
    )
    return Term(shaped(array, tuple(sizes[label] for label in kept)), kept)


def _diagonal(term: Term, label: str) -> Term:
    array, labels = term
    first = labels.index(label)
    second = labels.index(label, first + 1)
    if array.shape[first] != array.shape[second]:
        raise ShapeMismatch(
            f"einsum(): the axes named {label!r} of one array have the lengths"
            f" {array.shape[first]} and {array.shape[second]}."
        )
    rest = tuple(place for place in range(array.ndim) if place not in (first, second))
    made = apply("diagonal", permuted(array, (*rest, first, second)), offset=0)
    return Term(made, (*(labels[place] for place in rest), label))


def _needed(terms: Iterable[Term], output: Labels) -> frozenset[str]:
    return frozenset(output).union(*(each.labels for each in terms))


def _cheapest(terms: Sequence[Term], output: Labels, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The pair whose product takes the fewest operations; of equal ones that with the smallest
    result."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        rest = [each for place, each in enumerate(terms) if place not in pair]
        needed = _needed(rest, output)
        labels = {*terms[pair[0]].labels, *terms[pair[1]].labels}
        result = prod(sizes[each] for each in labels if each in needed)
        return prod(sizes[each] for each in labels), result

    return min(combinations(range(len(terms)), 2), key=cost)


def _product(left: Term, right: Term, needed: Collection[str]) -> Term:
    """Two terms as one, the labels that nobody needs any more summed over."""
    left, right = _summed(left, {*needed, *right.labels}), _summed(right, {*needed, *left.labels})
    common = [label for label in left.labels if label in right.labels]
    batch = [label for label in common if label in needed]
    inner = [label for label in common if label not in needed]
    rows = [label for label in left.labels if label not in common]
    columns = [label for label in right.labels if label not in common]
    labels = (*batch, *rows, *columns)
    if not inner:
        return Term(_spread(left, labels) * _spread(right, labels), labels)
    sides = _ordered(left, batch, rows, inner), _ordered(right, batch, inner, columns)
    lengths = dict(zip((*left.labels, *right.labels), (*left.array.shape, *right.array.shape),
                       strict=True))  # fmt: skip
    return Term(shaped(apply("matmul", *sides), tuple(lengths[each] for each in labels)), labels)


def _summed(term: Term, needed: Collection[str]) -> Term:
    gone = tuple(place for place, label in enumerate(term.labels) if label not in needed)
    if not gone:
        return term
    made = statistics.sum(term.array, axis=gone, dtype=term.array.dtype)
    return Term(made, tuple(label for label in term.labels if label in needed))


def _ordered(term: Term, *groups: Sequence[str]) -> core.Array:
    """The axes of each group as one, in this order."""
    order = tuple(term.labels.index(label) for group in groups for label in group)
    made = permuted(term.array, order)
    lengths = iter(made.shape)
    return shaped(made, tuple(prod(next(lengths) for _ in group) for group in groups))


def _spread(term: Term, labels: Labels) -> core.Array:
    """The axes in the order of `labels`, of length 1 where the term has none."""
    present = [label for label in labels if label in term.labels]
    made = permuted(term.array, tuple(term.labels.index(label) for label in present))
    lengths = dict(zip(present, made.shape, strict=True))
    return shaped(made, tuple(lengths.get(label, 1) for label in labels))


def _finished(term: Term, output: Labels) -> core.Array:
    array, labels = _summed(term, output)
    return permuted(array, tuple(labels.index(label) for label in output))


__all__ = ["einsum"]
