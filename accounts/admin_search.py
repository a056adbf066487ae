"""Searching lists of the admin without regard to marks and capitals, also where no column keeps a
folded form: for lists of some thousand rows, since each is folded anew."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar

from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan
from django.http import HttpRequest

from accounts.text import fold

MOST_WORDS = 8


class Folded(Func):
    """What `accounts.text.fold` makes of a column, for letters with marks of the Latin kind."""

    # Small letters last: in some databases lower() knows those of ASCII only.
    template = (
        "lower(translate(regexp_replace(normalize(%(expressions)s, NFD),"
        " '[\\u0300-\\u036f]', '', 'g'), 'Đđ', 'dd'))"
    )
    output_field = TextField()


class FoldedSearch:
    """For admin classes: each word of what is typed must occur in one of `folded_fields`, or be a
    part of one of `search_fields`."""

    folded_fields: ClassVar[tuple[str, ...]] = ()
    search_fields: ClassVar[tuple[str, ...]] = ()

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        for word in words(search_term):
            queryset = queryset.filter(_found(word, self.folded_fields, self.search_fields))
        return queryset, False


def words(typed: str) -> list[str]:
    """What is looked for, folded."""
    return fold(typed).split()[:MOST_WORDS]


def holds_all(column: str, typed: str) -> Q:
    """Rows whose column holds each word of what was typed."""
    return reduce(and_, (_holds(column, word) for word in words(typed)), Q())


def _holds(column: str, word: str) -> Q:
    return Q(GreaterThan(StrIndex(Folded(F(column)), Value(word)), 0))


def _found(word: str, folded: tuple[str, ...], plain: tuple[str, ...]) -> Q:
    others = (Q(**{f"{name}__icontains": word}) for name in plain if name not in folded)
    return reduce(or_, (*(_holds(name, word) for name in folded), *others))
