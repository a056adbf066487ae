"""Sign-in of programs: a short code that a person confirms on a page (as in RFC 8628).

POST /api/v1/sign-in         SignInStart -> SignInCode
POST /api/v1/sign-in/token   SignInPoll  -> SignInToken, or `sign_in_pending`, `sign_in_denied`,
                                            `sign_in_expired`
POST /api/v1/sign-out        (no body)   -> SignedOut: the bearer token that came with it is revoked
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from goblin_wire.fields import Id, Seconds, ShortText, Url
from goblin_wire.tokens import Scope


class SignInStart(Struct, kw_only=True, omit_defaults=True):
    protocol: int
    scope: Scope
    program: ShortText
    """Shown to the person: program and version."""
    label: ShortText = ""
    """Shown to the person: the machine's chosen label."""
    lab: Id | None = None
    """For scope `lab`: which lab; left out where the person has only one."""


class SignInCode(Struct, kw_only=True):
    device_code: Annotated[str, Meta(max_length=64)]
    """Secret of the program."""
    user_code: Annotated[str, Meta(max_length=16)]
    """What the person types, as `ABCD-EFGH`."""
    url: Url
    """Page with the code filled in."""
    interval_s: Seconds
    expires_s: Seconds


class SignInPoll(Struct, kw_only=True):
    device_code: Annotated[str, Meta(max_length=64)]


class SignInToken(Struct, kw_only=True, omit_defaults=True):
    token: str
    scope: Scope
    lab: Id | None = None
    lab_name: ShortText = ""
    expires_s: Seconds


class SignedOut(Struct, kw_only=True):
    """The token does not work any more; saying so twice is no error."""
