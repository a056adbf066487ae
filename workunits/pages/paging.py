"""Lists in pages: counting is one question, reading a page another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.utils.functional import cached_property

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator

Read = Callable[[int, int], Sequence[Any]]
"""From how many there may be at most, and from which one on, to what is there."""


class Pages(_Paginator):
    """Django's paginator for what is read by our own statements."""

    def __init__(self, size: int, count: Callable[[], int], read: Read) -> None:
        self._count, self._read = count, read
        super().__init__([], size)

    @cached_property
    def count(self) -> int:
        return self._count()

    def page(self, number: Any) -> Page[Any]:
        """The page; raises as Django's does for one that is not there."""
        valid = self.validate_number(number)
        found = self._read(self.per_page, (valid - 1) * self.per_page)
        return Page(found, valid, self)
