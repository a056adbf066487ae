"""Charts as SVG made on the server: they print, need no script, and pass a strict policy.

Positions along the axis of time are percentages and heights are pixels, so that a chart is as wide
as its place while its text keeps its size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from gpugoblin_site.charts import UNITS, Chart, Series, Unit

HEIGHT = 220
"""Pixels of the whole picture: the plot, and the labels below it."""
TOP, BOTTOM = 12, 188
MOST_LABELS = 5
SIDE, LETTER = 14, 8
"""Pixels beside the words at the side, and of one of their letters."""
GRID_LINES = 4
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUND_SECONDS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14400,
    21600,
    43200,
)
_GAP = 0.12
"""Of the room of a bar, left free at each side."""


class Line(NamedTuple):
    """A line of the grid and what it stands for."""

    y: float
    text: str


class Label(NamedTuple):
    """A word below the plot; every other one is `between`, and left out where room is scarce."""

    x: float
    text: str
    anchor: str
    between: bool


class Mark(NamedTuple):
    """A bar (`x`, `y`, `width`, `height`) of a series, or a piece of a line from `x`, `y` to
    `x2`, `y2`; x and widths in per cent, y and heights in pixels."""

    series: int
    x: float
    y: float
    x2: float
    y2: float
    title: str

    @property
    def width(self) -> float:
        return round(self.x2 - self.x, 3)

    @property
    def height(self) -> float:
        return round(self.y2 - self.y, 2)


class Row(NamedTuple):
    """A line of the table."""

    label: str
    values: list[str]


@dataclass(frozen=True)
class Drawing:
    """A chart as its template draws it."""

    chart: Chart
    grid: list[Line]
    labels: list[Label]
    marks: list[Mark]
    rows: list[Row]
    height: int = HEIGHT
    bottom: int = BOTTOM
    text_y: int = BOTTOM + 20

    @property
    def scale(self) -> int:
        """Pixels that the words at the side need, drawn in a font of 13 pixels."""
        return SIDE + LETTER * max(len(line.text) for line in self.grid)


def draw(chart: Chart) -> Drawing:
    """Positions and words of everything in a chart."""
    unit = UNITS[chart.unit]
    known = [value for each in chart.series for value in each.values if value is not None]
    step = _step(max(known, default=0.0), unit)
    top = step * GRID_LINES
    grid = [Line(_y(step * at, top), unit.short(step * at)) for at in range(GRID_LINES, -1, -1)]
    marks = _bars(chart, top) if chart.kind == "bars" else _lines(chart, top)
    return Drawing(chart, grid, _labels(chart), marks, _rows(chart))


def _step(most: float, unit: Unit) -> float:
    """The smallest round step with which the grid reaches above the largest value."""
    wanted = most / GRID_LINES
    if unit.base == 60:
        return next((float(each) for each in _ROUND_SECONDS if each >= wanted), _days(wanted))
    if wanted <= 0 or (unit.whole and wanted < 1):
        return 1.0
    scale = 1.0
    if unit.base != 10:
        scale = float(unit.base) ** max(0, math.floor(math.log(max(most, 1.0), unit.base)))
    power = scale * 10.0 ** math.floor(math.log10(wanted / scale))
    allowed = [each for each in _ROUND if not unit.whole or (each * power).is_integer()]
    return next(each * power for each in allowed if each * power >= wanted * (1 - 1e-12))


def _days(seconds: float) -> float:
    return math.ceil(seconds / 86400) * 86400.0


def _y(value: float, top: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * min(max(value / top, 0.0), 1.0), 2)


def _bars(chart: Chart, top: float) -> list[Mark]:
    room = 100 / max(1, len(chart.labels))
    wide = room * (1 - 2 * _GAP) / max(1, len(chart.series))
    marks = []
    for number, each in enumerate(chart.series):
        for at, value in enumerate(each.values):
            if value:
                left = room * (at + _GAP) + wide * number
                title = _title(chart, each, at, value)
                box = (round(left, 3), _y(value, top), round(left + wide, 3), float(BOTTOM))
                marks.append(Mark(number, *box, title))
    return marks


def _lines(chart: Chart, top: float) -> list[Mark]:
    marks = []
    for number, each in enumerate(chart.series):
        points = [
            None if value is None else (_middle(chart, at), _y(value, top))
            for at, value in enumerate(each.values)
        ]
        for at, (here, there) in enumerate(zip(points, [*points[1:], None], strict=True)):
            value = each.values[at]
            if here is None or value is None:
                continue
            # A point without a neighbour is a piece of no length, which round ends show as a dot.
            alone = there is None and (at == 0 or points[at - 1] is None)
            end = here if alone else there
            if end is not None:
                marks.append(Mark(number, *here, *end, _title(chart, each, at, value)))
    return marks


def _middle(chart: Chart, at: int) -> float:
    return round(100 * (at + 0.5) / len(chart.labels), 3)


def _title(chart: Chart, series: Series, at: int, value: float) -> str:
    told = f"{chart.labels[at]}: {UNITS[chart.unit].exact(value)}"
    return f"{series.name}, {told}" if len(chart.series) > 1 else told


def _labels(chart: Chart) -> list[Label]:
    count = len(chart.labels)
    every = max(1, math.ceil(count / MOST_LABELS))
    words = chart.short or chart.labels
    labels: list[Label] = []
    for at in range(0, count, every):
        middle = _middle(chart, at)
        anchor = "start" if middle < 8 else "end" if middle > 92 else "middle"
        edge = {"start": 0.0, "end": 100.0, "middle": middle}[anchor]
        labels.append(Label(edge, words[at], anchor, between=len(labels) % 2 == 1))
    return labels


def _rows(chart: Chart) -> list[Row]:
    exact = UNITS[chart.unit].exact
    columns = [each.values for each in chart.series]
    return [
        Row(label, ["\N{EN DASH}" if value is None else exact(value) for value in values])
        for label, *values in zip(chart.labels, *columns, strict=True)
    ]
