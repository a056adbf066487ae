"""Bodies with blobs: what part of one is asked for, and sending it piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from goblin_labnode.web import in_thread
from goblin_wire.problems import BadMessage


@dataclass(frozen=True)
class Extent:
    """The bytes of a blob of `size` bytes that are asked for: a `span`, or all."""

    size: int
    span: tuple[int, int] | None

    @classmethod
    def asked(cls, request: Request, size: int) -> Extent:
        """Raises `BadMessage` for a range that is none, or lies outside."""
        return cls(size, byte_range(request, size))

    @property
    def first(self) -> int:
        return self.span[0] if self.span else 0

    @property
    def end(self) -> int:
        return self.span[1] if self.span else self.size

    @property
    def length(self) -> int:
        return self.end - self.first

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept-Ranges": "bytes", "Content-Length": str(self.length)}
        if self.span is not None:
            headers["Content-Range"] = f"bytes {self.first}-{self.end - 1}/{self.size}"
        return headers


class PiecesResponse(Response):
    """A body that is read in a thread, a piece ahead of what the connection takes."""

    media_type = "application/octet-stream"

    def __init__(
        self, first: memoryview | None, rest: Iterator[memoryview], extent: Extent
    ) -> None:
        super().__init__(None, 206 if extent.span else 200, extent.headers)
        self._next = first
        self._rest = rest

    @classmethod
    async def begin(cls, pieces: Iterator[memoryview], extent: Extent) -> PiecesResponse:
        """Read the first piece: what raises here is answered with its own status."""
        return cls(await in_thread(next, pieces, None), pieces, extent)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send what is read. A failure amid the body breaks the connection: it stays short."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        while self._next is not None:
            await send({"type": "http.response.body", "body": self._next, "more_body": True})
            self._next = await in_thread(next, self._rest, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def byte_range(request: Request, size: int) -> tuple[int, int] | None:
    """First and end of the asked range, or none for all. Raises `BadMessage`."""
    text = request.headers.get("range")
    if text is None:
        return None
    unit, _, span = text.partition("=")
    first, dash, last = span.strip().partition("-")
    numbers = (first, last) if last else (first,)
    if unit != "bytes" or not dash or not all(_is_number(each) for each in numbers):
        raise BadMessage("Only one range, as `bytes=FIRST-LAST`, is served.")
    begin = int(first)
    end = min(int(last) + 1, size) if last else size
    if begin >= end:
        raise BadMessage(f"The range lies outside of the {size} bytes that there are.")
    return begin, end


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 16
