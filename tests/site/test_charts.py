"""Charts: scales, positions, the table beside them, and what their SVG may hold."""

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from gpugoblin_site import charts, plotting
from gpugoblin_site.charts import Chart, Series


def chart(*values: float | None, kind: str = "bars", unit: str = "number") -> Chart:
    labels = [f"day {at}" for at in range(len(values))]
    return Chart("Verified", labels, [Series("units", values)], kind=kind, unit=unit)


def page(shown: Chart) -> str:
    return Template("{% load goblin %}{% chart shown %}").render(Context({"shown": shown}))


@pytest.mark.parametrize(
    ("most", "unit", "top"),
    [
        (0, "number", "4"),
        (3, "number", "4"),
        (5, "number", "8"),
        (1000, "number", "1,000"),
        (1001, "number", "2,000"),
        (2.4e15, "flops", "4\N{NO-BREAK SPACE}PFLOP"),
        (1.5 * 2**30, "bytes", "2\N{NO-BREAK SPACE}GiB"),
        (50, "seconds", "1\N{NO-BREAK SPACE}min"),
        (3 * 86400, "seconds", "4\N{NO-BREAK SPACE}d"),
    ],
)
def test_the_axis_ends_at_a_round_number(most: float, unit: str, top: str) -> None:
    with translation.override("en"):
        drawing = plotting.draw(chart(most, unit=unit))
    assert drawing.grid[0].text == top
    assert drawing.grid[0].y == plotting.TOP
    assert drawing.grid[-1].y == plotting.BOTTOM


@given(
    st.lists(st.none() | st.floats(0, 1e30), min_size=1, max_size=60),
    st.sampled_from(["bars", "lines"]),
    st.sampled_from(sorted(charts.UNITS)),
)
def test_whatever_comes_stays_inside(values: list[float | None], kind: str, unit: str) -> None:
    drawing = plotting.draw(chart(*values, kind=kind, unit=unit))
    for mark in drawing.marks:
        assert 0 <= mark.x <= mark.x2 <= 100
        assert plotting.TOP <= mark.y <= plotting.BOTTOM
        assert plotting.TOP <= mark.y2 <= plotting.BOTTOM
    assert len(drawing.labels) <= plotting.MOST_LABELS
    assert len(drawing.rows) == len(values)


def test_bars_are_as_high_as_their_values() -> None:
    drawing = plotting.draw(chart(2, 0, 4))
    assert [mark.height for mark in drawing.marks] == [88.0, 176.0]  # nothing for nothing
    assert drawing.marks[0].title == "day 0: 2"


def test_a_line_has_a_gap_where_nothing_was_measured_and_a_dot_where_it_is_alone() -> None:
    drawing = plotting.draw(chart(1, 2, None, 3, kind="lines"))
    assert len(drawing.marks) == 2
    dot = drawing.marks[1]
    assert (dot.x, dot.y) == (dot.x2, dot.y2)


def test_the_table_has_every_value() -> None:
    shown = Chart(
        "Two", ["a", "b"], [Series("x", [1234567.0, None]), Series("y", [0.0, 1.0])], first="Day"
    )
    with translation.override("vi"):
        rows = plotting.draw(shown).rows
        told = page(shown)
    assert [row.values for row in rows] == [["1.234.567", "0"], ["\N{EN DASH}", "1"]]
    assert '<th scope="row">a</th>' in told
    assert told.count("<li>") == 2  # a legend, since there are two


def test_hours_are_those_of_the_reader() -> None:
    moments = [datetime(2026, 11, 30, 15, tzinfo=UTC) + timedelta(hours=at) for at in range(3)]
    with translation.override("vi"), timezone.override(ZoneInfo("Asia/Ho_Chi_Minh")):
        assert charts.hours(moments) == ["22:00", "23:00", "1/12 00:00"]
        assert charts.hours_at_axis(moments) == ["22:00", "23:00", "1/12"]
    with translation.override("en"), timezone.override(ZoneInfo("UTC")):
        assert charts.hours(moments) == ["15:00", "16:00", "17:00"]
        assert charts.days([date(2026, 12, 1)]) == ["1 Dec"]


def test_the_axis_is_short_and_has_words_that_a_phone_leaves_out() -> None:
    labels = [f"1 Dec {at:02}:00" for at in range(24)]
    values = Series("x", [1.0] * 24)
    drawing = plotting.draw(Chart("a", labels, [values], short=[str(at) for at in range(24)]))
    assert [each.text for each in drawing.labels] == ["0", "5", "10", "15", "20"]
    assert [each.between for each in drawing.labels] == [False, True, False, True, False]
    assert drawing.rows[1].label == "1 Dec 01:00"


def test_the_words_at_the_side_have_the_room_that_they_need() -> None:
    narrow, wide = plotting.draw(chart(3)), plotting.draw(chart(3e12, unit="flops"))
    assert narrow.scale < 40
    assert wide.scale > plotting.LETTER * len("3 TFLOP")


def test_the_picture_passes_a_strict_policy_and_escapes() -> None:
    told = page(Chart("<b>", ["<i>"], [Series("x", [1.5])], unit="seconds"))
    assert not re.search(r"\bstyle=|<style|<script|\bon\w+=", told)
    assert "<b>" not in told
    assert "<i>" not in told


def test_positions_have_points_whatever_the_language() -> None:
    with translation.override("vi"):
        told = page(chart(1, 2, 3))
    assert not re.search(r'(?:x|y|width|height|x1|x2|y1|y2)="[^"]*,[^"]*"', told)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="every series"):
        Chart("x", ["a"], [Series("y", [1, 2])])
    with pytest.raises(ValueError, match="no such chart"):
        Chart("x", ["a"], [Series("y", [1])], kind="pie")
    with pytest.raises(ValueError, match="short form"):
        Chart("a", ["b"], [Series("c", [1.0])], short=["d", "e"])
