"""What the check says about a returned tile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from opgraph.verification.precision import Array

Outcome = Literal["accept", "repair", "reissue", "convict"]


@dataclass(frozen=True)
class WrongEntry:
    """Evidence: an entry of the tile that no honest machine returns.

    Row and column count from the tile's corner. |got - want| exceeds `bound`; integers are exact
    and their bound is 0."""

    row: int
    column: int
    got: float | int
    want: float | int
    bound: float


@dataclass(frozen=True)
class TileCheck:
    """The judgement on one tile.

    `repaired`: rows (from the tile's first) whose values the check computed itself; they replace
    the returned ones. Empty unless the outcome is `repair`.
    `flagged`: how many rows failed; a repaired row that differs only by what flushing to zero may
    do is not counted. `residual`: the largest |residual| in units of the scale it is measured
    against; inf where a covered entry is not finite. To whoever computed the tile accept, repair
    and the residual must look the same."""

    outcome: Outcome
    code: str
    reason: str
    residual: float
    flagged: int = 0
    repaired: dict[int, Array] = field(default_factory=dict)
    entry: WrongEntry | None = None


def accepted(residual: float) -> TileCheck:
    return TileCheck("accept", "accepted", "Every row agrees with the secret vectors.", residual)


def mended(residual: float, flagged: int, repaired: dict[int, Array]) -> TileCheck:
    reason = f"{len(repaired)} of the tile's rows were computed again by the check and replaced."
    return TileCheck("repair", "repaired", reason, residual, flagged, repaired)


def too_inexact(residual: float, flagged: int, rows: int) -> TileCheck:
    reason = (
        f"{flagged} of {rows} rows are less exact than the check asks for; the tile is computed "
        "again by someone else. No single entry proves a fault, so nobody is blamed."
    )
    return TileCheck("reissue", "too_inexact", reason, residual, flagged)


def misfit(got: str, want: str) -> TileCheck:
    reason = f"The tile is {got} where {want} was asked for."
    return TileCheck("reissue", "wrong_shape", reason, float("inf"))


def convicted(residual: float, flagged: int, entry: WrongEntry) -> TileCheck:
    reason = (
        f"Entry ({entry.row}, {entry.column}) of the tile is {entry.got:.9g}, the product has "
        f"{entry.want:.9g} there; no order of summation in this format differs by more than "
        f"{entry.bound:.3g}."
    )
    return TileCheck("convict", "wrong_entry", reason, residual, flagged, entry=entry)


def convicted_exactly(flagged: int, entry: WrongEntry) -> TileCheck:
    """Of integers, where one wrong entry is proof whatever its size."""
    reason = (
        f"Entry ({entry.row}, {entry.column}) of the tile is {entry.got}, the product modulo 2^w "
        f"has {entry.want} there; integers are exact on every machine."
    )
    return TileCheck("convict", "wrong_entry", reason, float("inf"), flagged, entry=entry)


def unproven(flagged: int, rows: int) -> TileCheck:
    """Of integers: the vectors disagree and a row that is computed again does not."""
    reason = (
        f"{flagged} of {rows} rows disagree with the secret vectors, but the first of them is right"
        " when it is computed again; the tile is issued again and nobody is blamed."
    )
    return TileCheck("reissue", "unproven", reason, float("inf"), flagged)
