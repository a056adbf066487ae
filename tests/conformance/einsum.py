"""ONNX's Einsum: diagonals, then all operands spread over all letters, multiplied and added."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tests.conformance.reductions import total
from tests.conformance.translation import Lowering, Node, Translation


def einsum(t: Translation, node: Node) -> int:
    left, arrow, right = node.attribute("equation").replace(" ", "").partition("->")
    values = [node[place] for place in range(len(node.inputs))]
    pairs = zip(left.split(","), values, strict=True)
    terms = [_spelled(term, len(t.shape(value))) for term, value in pairs]
    spread = max((sum(each.isdigit() for each in term) for term in terms), default=0)
    kept = _spelled(right, len(right.replace("...", "")) + spread) if arrow else _kept(terms)
    parts = [_without_repeats(t, value, term) for value, term in zip(values, terms, strict=True)]
    letters = [*kept, *sorted({each for _v, term in parts for each in term} - set(kept))]
    lined = [_lined(t, value, term, letters) for value, term in parts]
    found = reduce(lambda one, other: t("multiply", *t.together(one, other)), lined)
    axes = tuple(range(len(kept), len(letters)))
    return total(t, found, axes, False) if axes else found


def _spelled(term: str, rank: int) -> list[str]:
    """A letter for each axis; those of dots are digits, the last one 0."""
    if "..." not in term:
        return list(term)
    before, _, after = term.partition("...")
    more = rank - len(before) - len(after)
    return [*before, *map(str, reversed(range(more))), *after]


def _kept(terms: Sequence[Sequence[str]]) -> list[str]:
    """Without an arrow: dots, then letters that occur once."""
    every = [each for term in terms for each in term if not each.isdigit()]
    dots = {each for term in terms for each in term if each.isdigit()}
    return [
        *sorted(dots, reverse=True),
        *sorted(each for each in set(every) if every.count(each) == 1),
    ]


def _without_repeats(t: Translation, value: int, term: list[str]) -> tuple[int, list[str]]:
    """Diagonals along axes that have one letter."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            places = [axis for axis, each in enumerate(term) if each == letter][:2]
            rest = [axis for axis in range(len(term)) if axis not in places]
            value = t("permute_dims", value, axes=(*rest, *places))
            value = t("diagonal", value, offset=0)
            term = [*(term[axis] for axis in rest), letter]
    return value, term


def _lined(t: Translation, value: int, term: list[str], letters: Sequence[str]) -> int:
    """Axes in the order of all letters, of size 1 where the operand has none."""
    own = [letter for letter in letters if letter in term]
    value = t("permute_dims", value, axes=tuple(term.index(letter) for letter in own))
    sides = dict(zip(own, t.shape(value), strict=True))
    return t.reshape(value, [sides.get(letter, 1) for letter in letters])


LOWERINGS: dict[str, Lowering] = {"Einsum": einsum}
