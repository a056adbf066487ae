"""Bodies as both listeners take them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from goblin_labnode import web
from goblin_wire.problems import Unavailable, WrongLength


class Sender:
    """A request whose body comes in these chunks and then, if it hangs, not at all."""

    def __init__(self, *chunks: bytes, hangs: bool = False) -> None:
        self.chunks = chunks
        self.hangs = hangs

    async def stream(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk
        if self.hangs:
            await asyncio.sleep(60)


def taken(sender: Sender, length: int) -> list[bytes]:
    async def take() -> list[bytes]:
        groups = web.pieces(sender, length)  # type: ignore[arg-type]
        return [b"".join(group) async for group in groups]

    return asyncio.run(take())


def test_chunks_come_in_large_groups() -> None:
    chunk = bytes(web.PIECE_BYTES // 4)
    assert list(map(len, taken(Sender(*[chunk] * 6), 6 * len(chunk)))) == [
        web.PIECE_BYTES,
        web.PIECE_BYTES // 2,
    ]


@pytest.mark.parametrize("length", [2, 4])
def test_the_announced_length_counts(length: int) -> None:
    with pytest.raises(WrongLength):
        taken(Sender(b"abc"), length)


def test_a_body_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "BODY_SILENCE_S", 0.05)
    with pytest.raises(Unavailable) as caught:
        taken(Sender(b"abc", hangs=True), 10)
    assert caught.value.retry_after == 1.0
