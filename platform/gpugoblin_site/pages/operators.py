"""The operators as the catalogue page shows them. What an operator is comes from its declaration in
`opgraph`, which does not change while the site runs, so each is rendered once for each language."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounts.text import fold
from gpugoblin_site.pages.families import family_name
from opgraph.catalogue import OPERATORS, Operator
from opgraph.catalogue.description import describe

MOST_WORDS = 8


class Shown(NamedTuple):
    """An operator, rendered in one language."""

    name: str
    family: str
    html: SafeString


class Section(NamedTuple):
    """A family with those of its operators that were found."""

    family: str
    title: str
    number: int
    html: SafeString


def words_of(query: str) -> list[str]:
    """What is looked for: words without case and marks, a few at most."""
    return fold(query).split()[:MOST_WORDS]


def holds(text: str, words: Iterable[str]) -> bool:
    """Whether each of the words begins a word of a folded text."""
    spaced = f" {text}"
    return all(f" {word}" in spaced for word in words)


def sections(language: str, words: list[str]) -> list[Section]:
    """The families in the catalogue's order, with the operators that hold all the words."""
    if not words:
        return _all_sections(language)
    return _sections(each for each in _shown(language) if _is_meant(each.name, words))


@cache
def _all_sections(language: str) -> list[Section]:
    return _sections(_shown(language))


def _sections(found: Iterable[Shown]) -> list[Section]:
    by_family: dict[str, list[Shown]] = {}
    for each in found:
        by_family.setdefault(each.family, []).append(each)
    return [
        Section(family, family_name(family), len(members), _joined(members))
        for family, members in by_family.items()
    ]


def _joined(members: list[Shown]) -> SafeString:
    return format_html_join("", "{}", ((each.html,) for each in members))


@cache
def _shown(language: str) -> tuple[Shown, ...]:
    with translation.override(language):
        return tuple(Shown(each.name, each.family, _rendered(each)) for each in OPERATORS.values())


def _rendered(operator: Operator) -> SafeString:
    facts: dict[str, Any] = describe(operator)
    return render_to_string("pages/operator.html", {"operator": facts})


def _is_meant(name: str, words: list[str]) -> bool:
    """Parts of names count as well, so that `norm` finds `layer_norm`."""
    return all(word in name or holds(_texts()[name], [word]) for word in words)


@cache
def _texts() -> dict[str, str]:
    """By operator, what is searched: its name and texts, its types, its family in all languages."""
    return {each.name: _text(each) for each in OPERATORS.values()}


def _text(operator: Operator) -> str:
    facts = describe(operator)
    dtypes = sorted({dtype for row in operator.dtypes.items() for side in row for dtype in side})
    parts = [operator.name.replace("_", " "), facts["signature"], operator.summary, *dtypes]
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            parts.append(family_name(operator.family))
    letters = (c if c.isalnum() or c == "_" else " " for c in fold(" ".join(parts)))
    return " ".join("".join(letters).split())
