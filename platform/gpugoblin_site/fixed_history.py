"""Rows that tell what happened: they are added and never changed, here and by triggers."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


class HistoryIsFixed(Exception):
    """What happened can neither be changed nor deleted; add to it."""


class FixedHistory(models.Model):
    """A model whose rows are only added."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise HistoryIsFixed(HistoryIsFixed.__doc__)
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise HistoryIsFixed(HistoryIsFixed.__doc__)
