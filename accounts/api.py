"""The sign-in and sign-out addresses of programs."""

from __future__ import annotations

from typing import Any

from accounts import services, sign_in
from accounts.authentication import bearer_token
from accounts.limits import client_address
from goblin_wire.problems import (
    SignInDenied,
    SignInExpired,
    SignInPending,
    TokenInvalid,
    TokenMissing,
    UnknownLab,
)
from goblin_wire.protocol import require_protocol
from goblin_wire.signin import SignedOut, SignInCode, SignInPoll, SignInStart, SignInToken
from gpugoblin_site.api import Call, endpoint


@endpoint("POST", request=SignInStart, reply=SignInCode, problems=(UnknownLab,))
def start_sign_in(call: Call[SignInStart]) -> SignInCode:
    """Begin the sign-in of a program: a code that a person confirms on a page."""
    require_protocol(call.message.protocol)
    return sign_in.start(call.message, client_address(call.request))


@endpoint(
    "POST",
    request=SignInPoll,
    reply=SignInToken,
    problems=(SignInPending, SignInDenied, SignInExpired),
)
def poll_sign_in(call: Call[SignInPoll]) -> SignInToken:
    """Ask for the token; `sign_in_pending` until the person has decided. It is given once."""
    return sign_in.poll(call.message.device_code, client_address(call.request))


@endpoint("POST", reply=SignedOut, problems=(TokenMissing, TokenInvalid))
def sign_out(call: Call[Any]) -> SignedOut:
    """Revoke the bearer token that comes with the request, of whichever kind it is."""
    services.sign_out(bearer_token(call.request))
    return SignedOut()
