"""API tokens: a public prefix to find the row, a secret of which only the SHA-256 is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from enum import StrEnum
from typing import NamedTuple

_FORM = re.compile(r"gb([vl])_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


class Scope(StrEnum):
    VOLUNTEER = "volunteer"
    LAB = "lab"


_LETTERS = {Scope.VOLUNTEER: "v", Scope.LAB: "l"}
_SCOPES = {letter: scope for scope, letter in _LETTERS.items()}


class TokenParts(NamedTuple):
    scope: Scope
    prefix: str
    secret: str


def new_token(scope: Scope) -> str:
    """A fresh token, to be shown once."""
    return f"gb{_LETTERS[scope]}_{secrets.token_hex(8)}_{secrets.token_urlsafe(32)}"


def split_token(token: str) -> TokenParts | None:
    """The parts of a token, or none if it does not have the form of one."""
    match = _FORM.fullmatch(token)
    if match is None:
        return None
    return TokenParts(_SCOPES[match[1]], match[2], match[3])


def secret_hash(secret: str) -> str:
    """What the database keeps. The secret has 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def secret_matches(secret: str, stored: str) -> bool:
    return hmac.compare_digest(secret_hash(secret), stored)
