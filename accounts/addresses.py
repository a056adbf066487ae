"""The one form of an e-mail address, however it was typed."""

from __future__ import annotations

import unicodedata

import idna
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from goblin_wire.problems import BadMessage

ADDRESS_MOST = 254


def folded(email: str) -> str:
    """The form in which an address is kept and compared. Raises `BadMessage`.

    Before the `@` NFC without capitals. After it what the name servers know: a domain with other
    letters and its `xn--` spelling are one (IDNA 2008, mapped as UTS 46 says). Letters that only
    look alike stay different.
    """
    typed, at, domain = email.strip().rpartition("@")
    address = f"{_local(typed)}{at}{_domain(domain)}"
    try:
        validate_email(address)
    except ValidationError:
        raise _none() from None
    if len(address) > ADDRESS_MOST:
        raise _none()
    return address


def shown(email: str) -> str:
    """An address with its domain in the letters that people write."""
    local, at, domain = email.rpartition("@")
    try:
        return f"{local}{at}{idna.decode(domain)}" if "xn--" in domain else email
    except (idna.IDNAError, UnicodeError):
        return email


def _local(typed: str) -> str:
    composed = unicodedata.normalize("NFC", typed)
    if composed.casefold() != composed.lower():
        # Folding made other letters of them, as `ss` of `ß`: the mail would go to somebody else.
        raise _none()
    return composed.casefold()


def _domain(typed: str) -> str:
    if typed.isascii():
        return typed.lower()
    if len(typed) > ADDRESS_MOST:
        raise _none()
    try:
        return idna.encode(typed, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise _none() from None


def _none() -> BadMessage:
    return BadMessage("This is not an e-mail address.")
