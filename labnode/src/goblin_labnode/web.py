"""What both listeners do alike: errors as problem+json, bounded bodies, nothing told about us."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from goblin_wire.codec import decode, encode
from goblin_wire.problems import (
    PROBLEM_JSON,
    BadMessage,
    Internal,
    LengthRequired,
    MethodNotAllowed,
    NotFound,
    Problem,
    TooLarge,
    Unavailable,
    UnsupportedMedia,
    WrongLength,
)
from goblin_wire.protocol import MAX_JSON_BYTES, MIB, PROTOCOL_HEADER, require_protocol_header

_log = logging.getLogger(__name__)

T = TypeVar("T")
PIECE_BYTES = 4 * MIB
"""Bodies are handed on in pieces of at least this size."""
BODY_SILENCE_S = 60.0
"""A body that does not go on for so long is given up; an upload goes on from where it stands."""


def application(routes: list[BaseRoute], guard: Callable[[ASGIApp], ASGIApp]) -> ASGIApp:
    """An app whose every answer to a failure is problem+json; `guard` is asked first."""
    app = Starlette(
        routes=routes,
        exception_handlers={Problem: _problem, HTTPException: _http_problem},
    )
    app.router.redirect_slashes = False
    return _Shield(guard(app))


class _Shield:
    """The outermost layer: an unforeseen failure is logged and answered like any other."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watch(message: Any) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["type"] == "http":
                require_protocol_header(Request(scope).headers.get(PROTOCOL_HEADER))
            await self._app(scope, receive, watch)
        except ClientDisconnect:
            return
        except Problem as problem:
            if not started:
                await problem_response(problem)(scope, receive, send)
        except Exception:
            _log.exception("a request failed")
            if not started:
                await problem_response(Internal())(scope, receive, send)


def problem_response(problem: Problem) -> Response:
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(problem.retry_after)))
    return Response(problem.to_bytes(), problem.status, headers, media_type=PROBLEM_JSON)


def message_response(message: Any, status: int = 200) -> Response:
    return Response(encode(message), status, media_type="application/json")


async def in_thread(function: Callable[..., T], *values: Any) -> T:
    """Run what may wait for the disk or a lock away from the event loop."""
    return await run_in_threadpool(function, *values)


async def read_message(request: Request, kind: type[T]) -> T:
    """The body as a message. Raises `Problem`."""
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    if media != "application/json":
        raise UnsupportedMedia("The body must be application/json.")
    body = bytearray()
    async for piece in _stream(request):
        body += piece
        if len(body) > MAX_JSON_BYTES:
            raise TooLarge(f"At most {MAX_JSON_BYTES} bytes are accepted.")
    return decode(bytes(body), kind)


def content_length(request: Request) -> int:
    """Raises `LengthRequired` or `WrongLength`."""
    text = request.headers.get("content-length")
    if text is None:
        raise LengthRequired
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        raise WrongLength("The length of the body is not a number.")
    return int(text)


async def pieces(request: Request, length: int) -> AsyncIterator[list[bytes]]:
    """The body in groups of chunks of at least `PIECE_BYTES`.

    Raises `WrongLength`, or `Unavailable` for a body that falls silent.
    """
    group: list[bytes] = []
    size = received = 0
    async for chunk in _stream(request):
        received += len(chunk)
        if received > length:
            raise WrongLength
        if chunk:
            group.append(chunk)
            size += len(chunk)
        if size >= PIECE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
    if received != length:
        raise WrongLength(f"{length} bytes were announced, {received} arrived.")


async def _stream(request: Request) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(BODY_SILENCE_S):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unavailable("The body was silent for too long.", retry_after=1.0) from None
        yield chunk


def integer(values: Mapping[str, str], name: str, default: int = 0) -> int:
    """A non-negative query parameter. Raises `BadMessage`."""
    text = values.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 16:
        raise BadMessage(f"The parameter {name} must be a whole number.")
    return int(text)


def seconds(values: Mapping[str, str], name: str, most: float) -> float:
    """A non-negative query parameter with a fraction, at most `most`. Raises `BadMessage`."""
    text = values.get(name, "0")
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) is None:
        raise BadMessage(f"The parameter {name} must be a number of seconds.")
    return min(float(text), most)


async def _problem(_request: Request, error: Exception) -> Response:
    return problem_response(error if isinstance(error, Problem) else Internal())


async def _http_problem(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        response = problem_response(MethodNotAllowed())
        allowed = getattr(error, "headers", None) or {}
        response.headers.update(allowed)
        return response
    return problem_response(NotFound() if status == 404 else BadMessage())
