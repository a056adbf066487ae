"""Sessions of browsers, each with its account, so that people see theirs and end them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models

if TYPE_CHECKING:
    from accounts.sessions import SessionStore


class Session(AbstractBaseSession):
    """`session_key` is a hash of what the cookie holds: a copy of the table opens no session."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="sessions"
    )
    last_used = models.DateTimeField()

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = "session"
        verbose_name_plural = "sessions"

    @classmethod
    def get_session_store_class(cls) -> type[SessionStore]:
        from accounts.sessions import SessionStore

        return SessionStore
