"""Entries of a tile beside the check's own: equal, flushed to zero, overflowed, or wrong.

Honest machines differ by more than rounding in two ways. Some flush subnormal numbers to zero:
operands, results or both. And where partial sums can pass the largest number the order of summation
decides whether an entry is infinite."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.entries import Entries
from opgraph.verification.overflow import (
    LEAST_CHANCE,
    Flags,
    Overflow,
    overflow,
    plausible_count,
)
from opgraph.verification.precision import Array, Floats, relative_scale, summation_terms
from opgraph.verification.state import BlockState


@dataclass(frozen=True)
class Agreement:
    """What each entry of a tile may be.

    `kept`: what a machine gives that keeps subnormal numbers; `flushed`: what machines give that
    flush operands, results, or both. `accident`: infinite by a likely accident of the order.
    `faultless`: no honest machine can be blamed for it. `expected`: how many accidents chance
    gives."""

    kept: Flags
    flushed: tuple[Flags, Flags, Flags]
    accident: Flags
    faultless: Flags
    expected: float


def agreement(state: BlockState, entries: Entries, got: Array) -> Agreement:
    """Compare the entries `got` of a tile with those that the check computed."""
    limit = _limit(state, entries)
    roundings = summation_terms(state.slice_cuts)
    accidents = overflow(entries, roundings, state.terms, state.precision)
    inside = np.abs(entries.values) + limit < state.precision.largest
    likely = accidents.chance(got) > LEAST_CHANCE
    outside = likely & ~inside
    kept = _equal(entries.values, got, limit) | outside
    flushed = _flushed(state, entries, got, limit)
    slack = state.factor * state.terms * state.precision.tiny + entries.flushed
    faultless = (np.abs(got - entries.values) <= limit + slack) | accidents.possible(got)
    # Beside an infinite operand a finite part that overflows makes NaN.
    faultless |= ~np.isfinite(got) & ~np.isfinite(entries.values)
    return Agreement(
        kept=kept,
        flushed=(flushed[0] | outside, flushed[1] | outside, flushed[2] | outside),
        accident=likely & inside,
        faultless=faultless | kept | flushed[0] | flushed[1] | flushed[2],
        expected=_expected(accidents, inside),
    )


def _limit(state: BlockState, entries: Entries) -> Floats:
    """How far rounding takes an entry; below zero where it has no size."""
    scale = np.hypot(entries.values, entries.spread)
    limit = state.factor * scale * relative_scale(state.slice_cuts, state.terms, state.precision)
    return np.where(np.isfinite(limit), limit + state.terms * state.precision.least, -1.0)


def _equal(reference: Array, got: Array, limit: Array) -> Flags:
    within = np.abs(got - reference) <= limit
    same: Flags = within | (got == reference) | (np.isnan(got) & np.isnan(reference))
    return same


def _flushed(
    state: BlockState, entries: Entries, got: Array, limit: Floats
) -> tuple[Flags, Flags, Flags]:
    """What machines give that read subnormal operands as zero, or write such results as zero, or
    both.

    Where every term is below the smallest normal number, so is every partial sum until it is
    flushed: nothing is left. Elsewhere each sum that is flushed moves the result by less than
    that number, and signs vary as those of rounding do."""
    precision = state.precision
    roundings = summation_terms(state.slice_cuts)
    wider = limit + precision.tiny * (state.factor * math.sqrt(roundings) + 4)
    nothing_left = entries.largest_term < precision.tiny
    without_lost = entries.values - entries.lost
    return (
        _equal(without_lost, got, limit),
        np.where(nothing_left, got == 0, _equal(entries.values, got, wider)),
        np.where(nothing_left, got == 0, _equal(without_lost, got, wider)),
    )


def _expected(accidents: Overflow, inside: Flags) -> float:
    return float(accidents.either[inside].sum())


class Deviations:
    """Rows of a tile that differ from the check's own, and whether one honest machine made them.

    A machine flushes everywhere or nowhere: a tile of which some rows are flushed and others show
    that subnormal numbers were kept was put together. And accidents of the order are as rare as
    chance makes them."""

    def __init__(self, rows: int) -> None:
        self._accidental = np.zeros(rows, dtype=bool)
        self._not_kept = np.zeros(rows, dtype=bool)
        self._not_flushed = np.zeros((3, rows), dtype=bool)
        self._accidents = 0
        self._expected = 0.0

    def add(self, rows: Array, found: Agreement) -> None:
        """Take in compared entries; `rows` are those of `found`, counted from the tile's first."""
        self._expected += found.expected
        self._accidents += int(np.count_nonzero(found.accident))
        self._accidental[rows] |= found.accident.any(axis=1)
        self._not_kept[rows] |= ~(found.kept | found.accident).all(axis=1)
        for wrong, right in zip(self._not_flushed, found.flushed, strict=True):
            wrong[rows] |= ~(right | found.accident).all(axis=1)

    def to_be_replaced(self) -> NDArray[np.int64]:
        """Rows that no honest machine explains which made the others too."""
        wrong = self._not_kept
        for not_flushed in self._not_flushed:
            keeps_some = (not_flushed & ~self._not_kept).any()
            if not keeps_some and np.count_nonzero(not_flushed) < np.count_nonzero(wrong):
                wrong = not_flushed
        if self._accidents > plausible_count(self._expected):
            wrong = wrong | self._accidental
        return np.flatnonzero(wrong)
