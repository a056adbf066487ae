"""Labelled lines of text, as a plan and a report are printed."""

from __future__ import annotations

import textwrap

WIDTH = 79
LABEL = 15


def labelled(label: str, text: str) -> list[str]:
    """The text beside its label, or indented without one; at most 79 columns wide."""
    indent = " " * (LABEL + 2) if label else "  "
    first = f"  {label:<{LABEL}}" if label else indent
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent)
