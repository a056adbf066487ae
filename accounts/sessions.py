"""The session engine (`SESSION_ENGINE`): Django's in the database, with account and last use."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from accounts.models import Session

TOUCHED_EVERY = timedelta(minutes=10)
"""No more often is a session's last use written."""
_DIGEST_BYTES = 20


def hashed(key: str) -> str:
    """What the table keeps for the key in a cookie: 40 hexadecimal digits."""
    # The keys are random and long: a slow hash would add nothing.
    return hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()


class SessionStore(DatabaseStore):
    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        row = self._row()
        if row is None:
            self._session_key = None
            return {}
        now = timezone.now()
        if row.last_used < now - TOUCHED_EVERY:
            Session.objects.filter(pk=row.pk).update(last_used=now)
        return self.decode(row.session_data)

    def exists(self, session_key: str) -> bool:
        return super().exists(hashed(session_key))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            Session.objects.filter(pk=hashed(key)).delete()

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        account = data.get(SESSION_KEY)
        return Session(
            session_key=hashed(self._get_or_create_session_key()),  # type: ignore[attr-defined]
            session_data=self.encode(data),
            expire_date=self.get_expiry_date(),
            account_id=None if account is None else int(account),
            last_used=timezone.now(),
        )

    def _row(self) -> Session | None:
        if self.session_key is None:
            return None
        return Session.objects.filter(
            pk=hashed(self.session_key), expire_date__gt=timezone.now()
        ).first()
