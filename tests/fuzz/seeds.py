"""Where mutations begin: the hostile corpus, one graph for every operator and row of its dtype
table, and what was found before.
"""

from __future__ import annotations

from functools import cache

from hostile import CORPUS
from operator_samples import SAMPLES, Case
from operator_samples.sample import Draw

from opgraph.builder import GraphBuilder
from opgraph.catalogue import operator
from opgraph.graph import Graph
from tests.fuzz.regressions import FOUND

Row = tuple[str, ...]


@cache
def rows() -> tuple[tuple[str, Row], ...]:
    """Every operator with every row of its dtype table."""
    # One that decides on its types by itself has no table.
    return tuple((name, row) for name in sorted(SAMPLES) for row in dtype_rows(name))


def dtype_rows(name: str) -> list[Row]:
    """The rows of one operator."""
    return sorted(operator(name).dtypes) or [()]


def case_of(name: str, row: Row, draw: Draw) -> Case:
    """A call that the operator takes."""
    return SAMPLES[name].case(draw, row)


def single(name: str, case: Case) -> Graph:
    """The operator alone."""
    build = GraphBuilder()
    pairs = enumerate(zip(case.dtypes, case.types, strict=True))
    values = [build.placeholder(f"x{n}", dtype, type_.shape) for n, (dtype, type_) in pairs]
    return build.build(*build.apply_all(name, values, case.attributes))


@cache
def valid() -> tuple[bytes, ...]:
    """A graph for every operator and row."""
    return tuple(
        single(name, case_of(name, row, Draw(number))).to_bytes()
        for number, (name, row) in enumerate(rows())
    )


@cache
def hostile() -> tuple[bytes, ...]:
    """The corpus that is refused, but for what only its length makes hostile; and what was found
    before."""
    corpus = (data for data, _code in CORPUS.values() if len(data) < 20_000)
    return (*corpus, *FOUND)
