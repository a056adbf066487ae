"""HTTP towards a site or a lab node: one form of request, one form of error.

Replies are capped before they are read, redirects are never followed, bulk bytes go straight into
the caller's buffer, and every failure is a `Problem`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeVar

import requests

from goblin_wire.addresses import Endpoint
from goblin_wire.codec import decode, encode
from goblin_wire.problems import (
    BadCertificate,
    BadReply,
    Problem,
    TooLarge,
    Unreachable,
    problem_from_response,
)
from goblin_wire.protocol import MAX_JSON_BYTES
from goblin_wire.transport import (
    TRANSFER_ERRORS,
    Body,
    certificate_reason,
    make_session,
    pieces,
    reason,
    was_never_sent,
)

T = TypeVar("T")
MAX_PROBLEM_BYTES = 64 * 1024
CONNECT_TIMEOUT_S = 10.0
CONNECT_PAUSE_S = 0.05
READ_TIMEOUT_S = 30.0
"""Longest silence within a reply; a stalled transfer ends with `Unreachable`."""


class HttpClient:
    """One base URL with its credentials. Not shared between threads."""

    def __init__(
        self,
        base_url: str,
        *,
        authorization: str | None = None,
        certificate: str | None = None,
        host: str | None = None,
        user_agent: str = "gpugoblin",
        read_timeout: float = READ_TIMEOUT_S,
        connect_timeout: float = CONNECT_TIMEOUT_S,
        connect_retries: int = 2,
        trust_environment: bool = True,
    ) -> None:
        """`certificate`: SHA-256 of the only certificate accepted (then no proxy is used);
        `host`: Host header where `base_url` holds a resolved address; `trust_environment`:
        honour proxy and certificate-bundle variables."""
        self.base_url = base_url.rstrip("/")
        self._timeout = (connect_timeout, read_timeout)
        self._pinned = certificate is not None
        self._connect_retries = connect_retries
        self._session = make_session(
            authorization=authorization,
            certificate=certificate,
            host=host,
            user_agent=user_agent,
            trust_environment=trust_environment,
        )

    @classmethod
    def for_endpoint(
        cls,
        endpoint: Endpoint,
        *,
        certificate: str | None,
        authorization: str | None = None,
        user_agent: str = "gpugoblin",
        read_timeout: float = READ_TIMEOUT_S,
        connect_timeout: float = CONNECT_TIMEOUT_S,
        connect_retries: int = 2,
    ) -> HttpClient:
        """A client for a lab's resolved endpoint; proxies are not used towards labs."""
        return cls(
            endpoint.origin,
            authorization=authorization,
            certificate=certificate if endpoint.scheme == "https" else None,
            host=endpoint.host_header,
            user_agent=user_agent,
            read_timeout=read_timeout,
            connect_timeout=connect_timeout,
            connect_retries=connect_retries,
            trust_environment=False,
        )

    def close(self) -> None:
        """Close the connections; the client may not be used afterwards."""
        self._session.close()

    def call(
        self,
        method: str,
        path: str,
        message: Any,
        reply: type[T],
        *,
        headers: dict[str, str] | None = None,
        limit: int = MAX_JSON_BYTES,
        read_timeout: float | None = None,
    ) -> T:
        """Send a message (or none) and return the decoded reply."""
        body = None if message is None else encode(message)
        return self.call_bytes(
            method, path, body, reply, headers=headers, limit=limit, read_timeout=read_timeout
        )

    def call_bytes(
        self,
        method: str,
        path: str,
        body: bytes | None,
        reply: type[T],
        *,
        headers: dict[str, str] | None = None,
        limit: int = MAX_JSON_BYTES,
        read_timeout: float | None = None,
    ) -> T:
        """As `call`, with a JSON body that is encoded already (and perhaps signed)."""
        sent = dict(headers or {})
        if body is not None:
            sent["Content-Type"] = "application/json"
        answer = self.get_bytes(
            path, method=method, body=body, headers=sent, limit=limit, read_timeout=read_timeout
        )
        return _decoded(answer, reply, limit)

    def get_bytes(
        self,
        path: str,
        *,
        method: str = "GET",
        body: Any = None,
        headers: dict[str, str] | None = None,
        limit: int = MAX_JSON_BYTES,
        read_timeout: float | None = None,
    ) -> bytes:
        """The reply's bytes, at most `limit`; an empty reply is `b""`."""
        with self._send(method, path, body, headers, read_timeout) as response:
            return self._read(response, limit)

    def read_into(
        self,
        path: str,
        buffer: memoryview,
        *,
        offset: int = 0,
        headers: dict[str, str] | None = None,
    ) -> int:
        """Fill `buffer` (writable, contiguous bytes) with the blob's bytes from `offset` on.

        Returns how many bytes arrived; fewer than asked for means that the connection broke, and
        a later call may go on from there.
        """
        wanted = len(buffer)
        if wanted == 0:
            return 0
        ranged = {**(headers or {}), "Range": f"bytes={offset}-{offset + wanted - 1}"}
        with self._send("GET", path, None, ranged, None) as response:
            _check_range(response, offset, wanted)
            return _fill(response, buffer)

    def read_pieces(
        self,
        path: str,
        length: int,
        *,
        offset: int = 0,
        headers: dict[str, str] | None = None,
    ) -> Iterator[bytes]:
        """The blob's `length` bytes from `offset` on, piece by piece as they arrive.

        Ends early where the connection breaks; a later call may go on from there.
        """
        if length == 0:
            return
        ranged = {**(headers or {}), "Range": f"bytes={offset}-{offset + length - 1}"}
        with self._send("GET", path, None, ranged, None) as response:
            _check_range(response, offset, length)
            try:
                yield from pieces(response)
            except TRANSFER_ERRORS:
                return

    def put(
        self, path: str, body: Any, reply: type[T], *, headers: dict[str, str] | None = None
    ) -> T:
        """Send raw bytes (any C-contiguous buffer) and return the decoded reply."""
        sent = {"Content-Type": "application/octet-stream", **(headers or {})}
        answer = self.get_bytes(path, method="PUT", body=body, headers=sent)
        return _decoded(answer, reply, MAX_JSON_BYTES)

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str] | None,
        read_timeout: float | None,
    ) -> requests.Response:
        timeout = (self._timeout[0], read_timeout) if read_timeout else self._timeout
        content: Any = Body(body) if body is not None and memoryview(body).nbytes else b""
        for attempt in range(self._connect_retries + 1):
            try:
                response = self._session.request(
                    method,
                    self.base_url + path,
                    data=content,
                    headers=headers,
                    timeout=timeout,
                    allow_redirects=False,
                    stream=True,
                    # Said here too: a bundle named by the environment would overrule the session.
                    verify=False if self._pinned else None,
                )
            except TRANSFER_ERRORS as error:
                if not was_never_sent(error) or attempt == self._connect_retries:
                    raise self._failure(error) from None
                time.sleep(CONNECT_PAUSE_S * 2**attempt)
            else:
                break
        if 200 <= response.status_code < 300:
            return response
        raise self._problem(response)

    def _failure(self, error: Exception) -> Problem:
        wrong = certificate_reason(error)
        if wrong is None:
            return Unreachable(f"{self.base_url} cannot be reached: {reason(error)}.")
        if self._pinned:
            return BadCertificate(
                f"The certificate of {self.base_url} is not the one that was expected; {wrong}."
            )
        return BadCertificate(f"The certificate of {self.base_url} was refused: {wrong}.")

    def _problem(self, response: requests.Response) -> Problem:
        with response:
            status = response.status_code
            if 300 <= status < 400:
                return BadReply(
                    f"Status {status}: the other end answered with a redirect; none is followed.",
                    status=status,
                )
            kind = response.headers.get("Content-Type", "")
            return problem_from_response(status, kind, _beginning(response, MAX_PROBLEM_BYTES))

    def _read(self, response: requests.Response, limit: int) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise BadReply("The reply is compressed, which was not asked for.")
        body = bytearray()
        try:
            for piece in pieces(response):
                if len(body) + len(piece) > limit:
                    raise TooLarge(f"The reply is larger than the {limit} bytes allowed.")
                body += piece
        except TRANSFER_ERRORS as error:
            raise Unreachable(
                f"{self.base_url} stopped in the middle of its reply: {reason(error)}."
            ) from None
        return bytes(body)


def _decoded(answer: bytes, reply: type[T], limit: int) -> T:
    try:
        return decode(answer, reply, limit=limit)
    except Problem as problem:
        raise BadReply(f"The reply is not part of the protocol: {problem.detail}") from None


def _beginning(response: requests.Response, limit: int) -> bytes:
    """The first bytes of an error's body, as far as they arrive."""
    body = bytearray()
    try:
        for piece in pieces(response):
            body += piece
            if len(body) >= limit:
                break
    except TRANSFER_ERRORS:
        return bytes(body)
    return bytes(body)


def _check_range(response: requests.Response, offset: int, wanted: int) -> None:
    whole = response.status_code == 200 and offset == 0
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
    if not (whole or (response.status_code == 206 and begins)):
        raise BadReply("The other end does not serve the part of the blob that was asked for.")
    length = response.headers.get("Content-Length")
    if length != str(wanted):
        raise BadReply(f"The blob has {length} bytes here, {wanted} were expected.")


def _fill(response: requests.Response, buffer: memoryview) -> int:
    filled = 0
    try:
        for piece in pieces(response):
            end = filled + len(piece)
            if end > len(buffer):
                raise BadReply("The blob is longer than was announced.")
            buffer[filled:end] = piece
            filled = end
    except TRANSFER_ERRORS:
        return filled
    return filled
