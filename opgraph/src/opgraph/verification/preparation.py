"""Making the checks: norms of B, one streaming pass over both operands, scales, calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from opgraph.verification.calibration import Calibration
from opgraph.verification.norms import column_norms
from opgraph.verification.precision import Floats, Precision, relative_scale
from opgraph.verification.projection import BlockWork, Projection, project
from opgraph.verification.reader import Cancelled, MatrixReader
from opgraph.verification.regions import (
    DIRECT,
    REGULAR,
    Kinds,
    Regions,
    columns_before_a,
    regions,
)
from opgraph.verification.state import BlockState
from opgraph.verification.threads import one_blas_thread
from opgraph.verification.vectors import Draws


class Preparation:
    """What the column blocks of one product have in common while their checks are made."""

    def __init__(
        self,
        secret: bytes,
        slice_cuts: Sequence[int],
        a: MatrixReader,
        b: MatrixReader,
        vectors: int,
        generation: int,
        cancelled: Cancelled,
    ) -> None:
        self._secret, self._a, self._b = secret, a, b
        self._cuts = tuple(slice_cuts)
        self._vectors, self._generation, self._cancelled = vectors, generation, cancelled
        self._precision = Precision.of(a.dtype)
        self._check_arguments()

    def states(self, blocks: Mapping[int, tuple[int, int]]) -> list[BlockState]:
        """The state of one check per block; `blocks` are neighbours, by rising columns."""
        if not blocks:
            return []
        with one_blas_thread(), np.errstate(all="ignore"):
            return self._states(blocks)

    def _states(self, blocks: Mapping[int, tuple[int, int]]) -> list[BlockState]:
        start, end = self._span(list(blocks.values()))
        norms = column_norms(self._b, (start, end), self._cancelled)
        by_block = {index: norms[c0 - start : c1 - start] for index, (c0, c1) in blocks.items()}
        works = {
            index: self._work(index, blocks[index], by_block[index], columns_before_a(norm))
            for index, norm in by_block.items()
        }
        found = project(self._a, self._b, list(works.values()), self._cancelled)
        areas = {index: self._regions(found, norm) for index, norm in by_block.items()}
        if any(np.any(areas[index].columns != works[index].kinds) for index in blocks):
            # A showed columns that the vectors can't cover: once more, without them.
            works = {
                index: self._work(index, blocks[index], by_block[index], areas[index].columns)
                for index in blocks
            }
            found = project(self._a, self._b, list(works.values()), self._cancelled)
        return [
            self._finish(index, works[index], found, at, areas[index])
            for at, index in enumerate(blocks)
        ]

    def _span(self, blocks: Sequence[tuple[int, int]]) -> tuple[int, int]:
        ends = [block[1] for block in blocks]
        starts = [block[0] for block in blocks]
        ordered = starts[1:] == ends[:-1] and all(c0 < c1 for c0, c1 in blocks)
        if not ordered or starts[0] < 0 or ends[-1] > self._b.shape[1]:
            raise ValueError("Column blocks must be neighbours inside B, none of them empty.")
        return starts[0], ends[-1]

    def _check_arguments(self) -> None:
        if Precision.of(self._b.dtype) != self._precision:
            raise ValueError("Both operands need the same dtype.")
        terms = self._a.shape[1]
        if terms != self._b.shape[0] or terms < 1:
            raise ValueError(f"No product of {self._a.shape} by {self._b.shape} to check.")
        rising = all(x < y for x, y in pairwise(self._cuts))
        if not rising or self._cuts[0] != 0 or self._cuts[-1] != terms:
            raise ValueError(f"Slices must lead from 0 to {terms} in rising steps.")
        if not 1 <= self._vectors <= 64:
            raise ValueError("A check uses between 1 and 64 vectors.")

    def _work(self, index: int, columns: tuple[int, int], norms: Floats, kinds: Kinds) -> BlockWork:
        draws = Draws(self._secret, index, self._generation)
        weights = np.zeros(len(norms))
        finite = np.flatnonzero(np.isfinite(norms))
        weights[finite] = np.exp2(-np.clip(np.round(norms[finite]), -1000, 1000))
        signs = draws.signs(len(norms), self._vectors)
        rows = self._a.shape[0]
        calibration = Calibration(draws, rows, finite, self._cuts, self._precision)
        return BlockWork(columns, kinds, weights, signs, calibration)

    def _regions(self, found: Projection, norms: Floats) -> Regions:
        return regions(found.log2_a, norms, self._cuts[-1], self._precision)

    def _finish(
        self, index: int, work: BlockWork, found: Projection, at: int, area: Regions
    ) -> BlockState:
        rows = area.rows.copy()
        z = found.of_block(at, self._vectors)
        z[rows == DIRECT] = 0.0
        main, slack = self._scale(z, found.squares[:, at], work.covered())
        # There the vectors would see less than what flushing to zero may change.
        rows[(rows == REGULAR) & ~(main > slack)] = DIRECT
        return BlockState(
            dtype=self._precision.dtype,
            column_block=index,
            generation=self._generation,
            columns=work.columns,
            slice_cuts=self._cuts,
            regions=Regions(rows, area.columns),
            weights=work.weights,
            signs=work.signs,
            projection=z,
            scale=np.where(rows == REGULAR, main + slack, 0.0),
            factor=work.calibration.factor(),
        )

    def _scale(self, z: Floats, squares: Floats, weights: Floats) -> tuple[Floats, float]:
        """Both parts of base_i: what rounding, and what flushing to zero, can make of a row."""
        terms, columns = self._cuts[-1], int(np.count_nonzero(weights))
        relative = relative_scale(self._cuts, columns, self._precision)
        main = relative * np.sqrt(np.square(z).mean(axis=1) + squares)
        slack = terms * self._precision.tiny * math.sqrt(float(np.square(weights).sum()))
        return main, slack
