"""What several tables share."""

from __future__ import annotations

from enum import StrEnum

from django.db import models
from django.db.models import Q


def one_of(column: str, states: type[StrEnum], *, table: str) -> models.CheckConstraint:
    """The database itself refuses a state that has no name."""
    return models.CheckConstraint(
        condition=Q(**{f"{column}__in": [state.value for state in states]}),
        name=f"{table}_{column}_known",
    )


def soft_link(to: str, *, related_name: str = "+") -> models.ForeignKey:  # type: ignore[type-arg]
    """A link without a constraint in the database and without an index of its own.

    For the hot tables: checking four links per lease costs more than writing the lease, and rows
    of these tables are never deleted while something points at them.
    """
    return models.ForeignKey(
        to, models.DO_NOTHING, db_constraint=False, db_index=False, related_name=related_name
    )
