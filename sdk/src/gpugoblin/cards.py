"""HTML for notebooks: one small card, right without scripts and after the kernel is gone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CARD = (
    "font-family:system-ui,sans-serif;max-width:44em;border:1px solid #8886;border-radius:8px;"
    "padding:12px 16px;margin:4px 0;line-height:1.45"
)
_MONO = "font-family:ui-monospace,monospace;font-variant-numeric:tabular-nums"
_TRACK = "background:#8883;border-radius:4px;height:8px;margin:8px 0"
_LABEL = "text-align:left;font-weight:400;color:#888;padding-right:1.5em;vertical-align:top"
_COLOURS = {"good": "#1f7a3d", "wait": "#9a6700", "bad": "#b3261e", "calm": "#6b7280"}

Rows = Sequence[tuple[str, str]]


def card(
    title: str,
    status: str,
    tone: str,
    sentence: str,
    rows: Rows,
    *,
    done: float | None = None,
    footer: str = "",
) -> str:
    """A card: title and status, a sentence, a bar for `done` (0 to 1), a table, a footer."""
    colour = _COLOURS[tone]
    parts = [
        f'<div style="{_CARD}">',
        (
            f'<div><strong>{escape(title)}</strong> <span style="color:{colour};font-weight:600">'
            f"{escape(status)}</span></div>"
        ),
        f"<div>{escape(sentence)}</div>" if sentence else "",
        "" if done is None else _bar(done, colour),
        _table(rows),
        f'<div style="color:#888;font-size:.85em">{escape(footer)}</div>' if footer else "",
        "</div>",
    ]
    return "".join(parts)


def _bar(done: float, colour: str) -> str:
    percent = f"{100 * min(max(done, 0.0), 1.0):.1f}"
    fill = f"background:{colour};border-radius:4px;height:8px;width:{percent}%"
    return (
        '<div role="progressbar" aria-valuemin="0" aria-valuemax="100"'
        f' aria-valuenow="{percent}" style="{_TRACK}"><div style="{fill}"></div></div>'
    )


def _table(rows: Rows) -> str:
    if not rows:
        return ""
    lines = "".join(
        f'<tr><th scope="row" style="{_LABEL}">{escape(name)}</th>'
        f'<td style="text-align:left;{_MONO}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="border-collapse:collapse;margin:6px 0">{lines}</table>'
