"""Python as pages show it."""

from __future__ import annotations

import io
import tokenize

from django.template.loader import get_template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

_COMMANDS = """\
python3 -m venv goblin && goblin/bin/pip install -c constraints.txt \
"./wire[signing,http]" ./opgraph ./client
goblin/bin/goblin-client join --site {site}
goblin/bin/goblin-client run"""
_LAB_COMMANDS = """\
goblin-lab init ~/mylab --site {site} --root data=/path/to/arrays --endpoint https://HOST:8471
goblin-lab serve ~/mylab
goblin-lab doctor ~/mylab"""
_CLASSES = {tokenize.COMMENT: "comment", tokenize.STRING: "string"}


def coloured(source: str) -> SafeString:
    """The source with its comments and strings in spans, everything escaped."""
    lines = source.splitlines(keepends=True)
    pieces: list[SafeString] = []
    row, column = 1, 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _CLASSES:
            pieces.append(format_html("{}", _between(lines, (row, column), token.start)))
            pieces.append(format_html('<span class="{}">{}</span>', _CLASSES[token.type], token[1]))
            row, column = token.end
    pieces.append(format_html("{}", _between(lines, (row, column), (len(lines) + 1, 0))))
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    first = lines[start[0] - 1][start[1] :]
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return first + "".join(lines[start[0] : end[0] - 1]) + last


def twelve_lines(language: str) -> str:
    """The first program of a researcher, with comments in a language."""
    source: str = get_template(f"pages/twelve_lines.{language}.txt").template.source  # type: ignore[attr-defined]
    return source


def commands(site: str) -> str:
    """How a volunteer starts, in a copy of the repository."""
    return _COMMANDS.format(site=site)


def lab_commands(site: str) -> str:
    """How a lab node is connected, on the machine that holds the data."""
    return _LAB_COMMANDS.format(site=site)


def shown(source: str) -> SafeString:
    """Coloured, without the last line's end."""
    return mark_safe(coloured(source).rstrip("\n"))  # noqa: S308 - coloured() escapes
