"""Making the checks: norms of B, one streaming pass over both operands, scales, calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from opgraph.verification.calibration import Calibration
from opgraph.verification.norms import column_norms
from opgraph.verification.precision import Floats, Precision, relative_scale, sums_in_single
from opgraph.verification.projection import BlockWork, Projection, Projector
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

_SAMPLE = 128
"""Rows of B from which the weights are guessed."""
_NEAR = 2.5
"""Weights that are off by less than this power of two are as good as the best."""


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
        span = self._span(list(blocks.values()))
        norms, works, projector = self._look_at_b(blocks, span)
        found = projector.run()
        by_block = _split(norms, blocks)
        areas = {index: self._regions(found, norm) for index, norm in by_block.items()}
        if any(np.any(areas[index].columns != works[index].kinds) for index in blocks):
            # A showed columns that the vectors can't cover: once more, without them.
            kinds = {index: area.columns for index, area in areas.items()}
            works = self._works(blocks, by_block, kinds)
            found = self._projector(works).run()
        return [
            self._finish(index, works[index], found, at, areas[index])
            for at, index in enumerate(blocks)
        ]

    def _look_at_b(
        self, blocks: Mapping[int, tuple[int, int]], span: tuple[int, int]
    ) -> tuple[Floats, dict[int, BlockWork], Projector]:
        """Norms of B's columns, and vectors with weights that suit them.

        Weights are guessed from the first rows; where the norms, found in the same pass as B X,
        are of another size, that pass is made again."""
        terms = self._cuts[-1]
        sample = min(terms, _SAMPLE)
        norms = column_norms(self._b, sample, span, self._cancelled)
        works = self._works(blocks, _split(norms + math.log2(terms / sample) / 2, blocks))
        projector = self._projector(works)
        if sample == terms:
            return norms, works, projector
        if len(projector.slabs()) > 1:
            norms = column_norms(self._b, terms, span, self._cancelled)
        else:
            norms = projector.norms_of_b()
            if all(_suits(works[index], norm) for index, norm in _split(norms, blocks).items()):
                return norms, works, projector
        works = self._works(blocks, _split(norms, blocks))
        return norms, works, self._projector(works)

    def _works(
        self,
        blocks: Mapping[int, tuple[int, int]],
        norms: Mapping[int, Floats],
        kinds: Mapping[int, Kinds] | None = None,
    ) -> dict[int, BlockWork]:
        return {
            index: self._work(
                index,
                columns,
                norms[index],
                kinds[index] if kinds else columns_before_a(norms[index]),
            )
            for index, columns in blocks.items()
        }

    def _projector(self, works: Mapping[int, BlockWork]) -> Projector:
        single = sums_in_single(self._cuts, self._precision)
        return Projector(self._a, self._b, list(works.values()), single, self._cancelled)

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


def _split(norms: Floats, blocks: Mapping[int, tuple[int, int]]) -> dict[int, Floats]:
    first = min(columns[0] for columns in blocks.values())
    return {index: norms[c0 - first : c1 - first] for index, (c0, c1) in blocks.items()}


def _suits(work: BlockWork, norms: Floats) -> bool:
    """Whether the weights fit these norms, and the vectors cover the columns that they may."""
    if np.any(columns_before_a(norms) != work.kinds):
        return False
    finite = np.isfinite(norms)
    if np.any(finite != (work.weights > 0)):
        return False
    return bool((np.abs(np.log2(work.weights[finite]) + norms[finite]) < _NEAR).all())
