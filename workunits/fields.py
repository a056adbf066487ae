"""Column types of PostgreSQL that Django lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    TextField = models.Field[str, str]
else:
    TextField = models.Field  # takes no parameters at run time


class Xid8Field(TextField):
    """A 64-bit transaction id; the database fills it with the writing transaction's."""

    def db_type(self, connection: Any) -> str:  # noqa: ARG002 - Django names it
        return "xid8"


class CurrentTransaction(models.Func):
    """`pg_current_xact_id()`: the id of the transaction that writes the row."""

    function = "pg_current_xact_id"
    output_field = Xid8Field()
