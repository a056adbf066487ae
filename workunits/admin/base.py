"""What the lists of this room share: nothing is edited, nothing is counted in full."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.admin_site import ShownOnly
from accounts.models import Account
from gpugoblin_site import readable
from gpugoblin_site.templatetags.goblin import ago

if TYPE_CHECKING:
    ListBase = admin.ModelAdmin[Any]
    PaginatorBase = Paginator[Any]
else:
    ListBase = admin.ModelAdmin
    PaginatorBase = Paginator

MOST_COUNTED = 10_000
"""Rows of a list are counted, and can be paged through, up to this."""
NOTHING = "-"


class BoundedPaginator(PaginatorBase):
    """Counts no further than anybody would page."""

    most = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        """The rows, at most `MOST_COUNTED`."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by()[: self.most].count()

    @property
    def is_cut(self) -> bool:
        """Whether there may be more rows."""
        return self.count >= self.most


class Sought(NamedTuple):
    """What somebody typed to find a row: a row's number or a long id."""

    number: int | None
    uid: UUID | None


class PlainList(ShownOnly, ListBase):
    """Newest first; costs the same with millions of rows as with a hundred."""

    show_full_result_count = False
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 50
    ordering = ("-pk",)
    change_list_template = "admin/workunits/change_list.html"
    search_fields: ClassVar[tuple[str, ...]] = ("pk",)
    """Only so that the box is shown: `found` says what it finds."""

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        """The rows that are meant."""
        return rows.none() if sought.number is None else rows.filter(pk=sought.number)

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By exact ids only: an index answers."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return self.found(queryset, Sought(number_of(term), uid_of(term))), False

    def page(self, request: HttpRequest, template: str, title: str, **facts: Any) -> HttpResponse:
        """A page of our own about rows of this list."""
        context = self.admin_site.each_context(request)
        context |= {"title": title, "opts": self.opts, **facts}
        return render(request, f"admin/workunits/{template}", context)


def column(name: str, label: Any) -> Any:
    """A column of the table under a label in the reader's language, to be sorted by."""

    @admin.display(description=label, ordering=name)
    def value(row: Any) -> Any:
        found = getattr(row, name)
        return readable.number(found) if isinstance(found, int) else found or NOTHING

    value.__name__ = name
    return value


def yes_or_no(name: str, label: Any) -> Any:
    """A column that is true or false, in words: the alternative of Django's signs is English."""

    @admin.display(description=label, ordering=name)
    def value(row: Any) -> str:
        return _("yes") if getattr(row, name) else _("no")

    value.__name__ = name
    return value


def said(name: str, label: Any) -> Any:
    """What a program said, in its own words, which are English."""

    @admin.display(description=label)
    def value(row: Any) -> Any:
        found = getattr(row, name)
        return format_html('<span lang="en">{}</span>', found) if found else NOTHING

    value.__name__ = name
    return value


def number_of(term: str) -> int | None:
    """A row's id as people type it."""
    return int(term) if term.isascii() and term.isdigit() and len(term) < 19 else None


def uid_of(term: str) -> UUID | None:
    """A 128-bit id in hexadecimal, with or without hyphens."""
    try:
        return UUID(term)
    except ValueError:
        return None


def operator_of(request: HttpRequest) -> Account:
    """Who acts; the admin lets nobody else in."""
    account = request.user
    assert isinstance(account, Account)  # noqa: S101
    return account


def page_of(model: type[Model], pk: Any, text: object) -> SafeString:
    """A link to a row's page."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[pk])
    return format_html('<a href="{}">{}</a>', url, text)


def list_of(model: type[Model], text: object, **chosen: object) -> SafeString:
    """A link to a list with a filter."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist", query=chosen)
    return format_html('<a href="{}">{}</a>', url, text)


def account_link(account: int) -> SafeString:
    return page_of(Account, account, _("account %(id)d") % {"id": account})


def since(moment: datetime | None) -> SafeString | str:
    """`3 min ago`, the exact time in its title."""
    return NOTHING if moment is None else ago(moment)


def short(uid: UUID) -> str:
    """The beginning of a long id, enough to tell rows of a page apart."""
    return uid.hex[:12]


def lines(rows: Sequence[tuple[object, ...]], form: str) -> SafeString | str:
    """A list of sentences, each made of a row by `form`."""
    if not rows:
        return NOTHING
    items = format_html_join("", f"<li>{form}</li>", rows)
    return format_html('<ul class="plain">{}</ul>', items)
