"""Who sent a request of the API: one query for each."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.http import HttpRequest

import goblin_wire.problems as wire
from goblin_wire.tokens import Scope, secret_matches, split_token
from gpugoblin_site.database.prepared import fetch_one

_FIND = """
SELECT t.id, t.account_id, a.key, t.lab_id, l.key, t.secret_hash, t.scope,
       t.revoked IS NOT NULL OR t.expires <= now(), a.state = 'active',
       l.id IS NULL OR (l.state = 'active' AND m.id IS NOT NULL),
       t.last_used IS NULL OR t.last_used < now() - interval '1 hour'
  FROM accounts_apitoken t
  JOIN accounts_account a ON a.id = t.account_id
  LEFT JOIN research_access_lab l ON l.id = t.lab_id
  LEFT JOIN research_access_labmember m ON m.lab_id = t.lab_id AND m.account_id = t.account_id
 WHERE t.prefix = %(prefix)s
"""
_TOUCH = """
UPDATE accounts_apitoken SET last_used = now()
 WHERE id = %s AND (last_used IS NULL OR last_used < now() - interval '1 hour')
"""
_REMOVED = """
SELECT h.id FROM workunits_host h
 WHERE h.account_id = %(account)s AND h.token_id = %(token)s AND h.removed IS NOT NULL LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request; `lab_id` and `lab_key` are set for scope `lab` only."""

    account_id: int
    account_key: uuid.UUID
    token_id: int
    lab_id: int | None = None
    lab_key: uuid.UUID | None = None

    @property
    def lab(self) -> int:
        """The lab's id; raises `WrongScope` where the token is not a lab's."""
        if self.lab_id is None:
            raise wire.WrongScope
        return self.lab_id


def principal(request: HttpRequest, scope: Scope) -> Principal:
    """The sender, by its bearer token.

    Raises `TokenMissing`, `TokenInvalid`, `TokenExpired`, `HostRemoved` (the token ended with its
    machine), `WrongScope`, `AccountSuspended` or `NotAllowed` (the lab is suspended, or the account
    left it).
    """
    return principal_of_token(bearer_token(request), scope)


def bearer_token(request: HttpRequest) -> str:
    kind, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise wire.TokenMissing
    return str(token).strip()


def principal_of_token(token: str, scope: Scope) -> Principal:
    """As `principal`, for a token at hand."""
    parts = split_token(token)
    if parts is None:
        raise wire.TokenInvalid
    row = fetch_one(_FIND, {"prefix": parts.prefix})
    if row is None or not secret_matches(parts.secret, row[5]) or row[6] != parts.scope:
        raise wire.TokenInvalid
    _require_usable(row, scope)
    if row[10]:
        _touch(row[0])
    return Principal(row[1], row[2], row[0], row[3], row[4])


def _require_usable(row: tuple[Any, ...], scope: Scope) -> None:
    ended, active, lab_allowed = row[7:10]
    if ended:
        raise _ended(row)
    if row[6] != scope:
        raise wire.WrongScope(f"This needs a token of the kind {scope}, this one is for {row[6]}.")
    if not active:
        raise wire.AccountSuspended
    if not lab_allowed:
        raise wire.NotAllowed("The lab is suspended, or the account no longer belongs to it.")


def _ended(row: tuple[Any, ...]) -> wire.Problem:
    """Why a token does not work any more; a client whose machine was removed keeps nothing."""
    of_removed = fetch_one(_REMOVED, {"account": row[1], "token": row[0]})
    return wire.TokenExpired() if of_removed is None else wire.HostRemoved()


def _touch(token_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TOUCH, [token_id])
