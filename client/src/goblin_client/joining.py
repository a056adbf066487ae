"""Becoming a volunteer: with a token, or by a short code that a person confirms on a page."""

from __future__ import annotations

import time
from collections.abc import Callable

from goblin_client import __version__
from goblin_client.errors import ClientError, Refused
from goblin_client.site import USER_AGENT, Site, check_site
from goblin_wire.http import HttpClient
from goblin_wire.problems import (
    AccountSuspended,
    Problem,
    RateLimited,
    SignInDenied,
    SignInExpired,
    SignInPending,
    TokenExpired,
    TokenInvalid,
    Unavailable,
    Unreachable,
    WrongScope,
)
from goblin_wire.protocol import PROTOCOL
from goblin_wire.signin import SignInCode, SignInPoll, SignInStart, SignInToken
from goblin_wire.tokens import Scope, split_token

REFUSALS = (AccountSuspended, SignInDenied, SignInExpired, TokenExpired, TokenInvalid, WrongScope)


def check_token(site: str, token: str) -> str:
    """The token, if the site takes it for a volunteer's. Raises `Refused` or `ClientError`."""
    token = token.strip()
    parts = split_token(token)
    if parts is None or parts.scope is not Scope.VOLUNTEER:
        raise Refused("This is not a volunteer's token; one begins with gbv_.")
    connection = Site(site, token)
    try:
        connection.status()
    except REFUSALS as problem:
        raise Refused(problem.detail) from None
    except Problem as problem:
        raise ClientError(problem.detail) from None
    finally:
        connection.close()
    return token


def sign_in(
    site: str,
    label: str,
    show: Callable[[SignInCode], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """A token, after a person has confirmed the code that `show` shows.

    Raises `Refused` (denied, expired) or `ClientError`.
    """
    http = HttpClient(check_site(site), user_agent=USER_AGENT)
    start = SignInStart(
        protocol=PROTOCOL,
        scope=Scope.VOLUNTEER,
        program=f"goblin-client {__version__}",
        label=label,
    )
    try:
        code = http.call("POST", "/api/v1/sign-in", start, SignInCode)
        show(code)
        return _poll(http, code, sleep)
    except REFUSALS as problem:
        raise Refused(problem.detail) from None
    except Problem as problem:
        raise ClientError(problem.detail) from None
    finally:
        http.close()


def _poll(http: HttpClient, code: SignInCode, sleep: Callable[[float], None]) -> str:
    waited, interval = 0.0, max(1.0, code.interval_s)
    while waited < code.expires_s:
        sleep(interval)
        waited += interval
        try:
            poll = SignInPoll(device_code=code.device_code)
            return http.call("POST", "/api/v1/sign-in/token", poll, SignInToken).token
        except SignInPending:
            continue
        except (RateLimited, Unavailable, Unreachable) as problem:
            interval = max(interval, problem.retry_after or interval + 1.0)
    raise SignInExpired
