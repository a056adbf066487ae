"""The backend that `ENGINE` names."""

from __future__ import annotations

import select
from typing import Any

import environ
from django.db.backends.postgresql import base
from psycopg.pq import ConnStatus

from gpugoblin_site.embedded_postgres import ensure_database_url

_ADDRESS = ("HOST", "PORT", "USER", "PASSWORD")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django asks `is_usable` at the first query of each request; a `SELECT 1` there would be one
    round trip more for every exchange."""

    def get_connection_params(self) -> dict[str, Any]:
        """As Django's; starts the embedded server first where the settings ask for it."""
        embedded = self.settings_dict.get("EMBEDDED")
        if embedded:
            found = environ.Env.db_url_config(ensure_database_url(**embedded))
            self.settings_dict.update({part: found[part] for part in _ADDRESS})
        params: dict[str, Any] = super().get_connection_params()
        return params

    def is_usable(self) -> bool:
        """Whether the connection still works.

        On an idle connection nothing is to be read: if something is, the server has said goodbye,
        or a notice came, and a real query decides. After an error a real query decides as well.
        """
        if self.connection is None:
            return False
        if self.errors_occurred or self._has_news():
            return bool(super().is_usable())
        return True

    def _has_news(self) -> bool:
        connection = self.connection
        if connection.closed or connection.pgconn.status != ConnStatus.OK:
            return True
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(0))
