"""Counters behind the rate limits; in the database, so that all workers share them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class RateLimit(models.Model):
    """How often something happened in a window of time. `key` is a keyed hash of what is counted
    and for whom: no address and no code can be read from it."""

    key = models.CharField(max_length=64, primary_key=True)
    count = models.IntegerField()
    ends = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["ends"], name="rate_limit_ends")]

    def __str__(self) -> str:
        return f"{self.count} until {self.ends:%H:%M:%S}"
