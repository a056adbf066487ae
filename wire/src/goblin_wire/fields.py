"""Bounded field types that the messages are made of.

Patterns end in `(?!\\n)$`: a bare `$` would let a trailing line break through.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}(?!\n)$")]
"""128 bits in hexadecimal: a host, lab, job, unit or lease."""
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?!\n)$")]
"""A BLAKE3 digest in hexadecimal."""
Code = Annotated[str, Meta(pattern=r"^[a-z0-9_]{1,40}(?!\n)$")]
_STEERING = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_PLAIN = rf"^[^{_STEERING}]*(?!\n)$"
Sentence = Annotated[str, Meta(max_length=500, pattern=_PLAIN)]
"""Text for people, without characters that steer a terminal or turn the direction of writing."""
LongSentence = Annotated[str, Meta(max_length=1000, pattern=_PLAIN)]
ShortText = Annotated[str, Meta(max_length=200, pattern=_PLAIN)]
Device = Annotated[str, Meta(pattern=r"^(cpu|gpu[0-9]{1,2})(?!\n)$")]
Nonce = Annotated[str, Meta(pattern=r"^[0-9a-f]{16,64}(?!\n)$")]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Flops = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Floating-point operations; a product of 200,000 x 200,000 matrices has more than 2**53."""
Size = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Rate = Annotated[float, Meta(ge=0, le=1e21)]
Share = Annotated[float, Meta(ge=0, le=1)]
Token = Annotated[str, Meta(max_length=4096)]
Url = Annotated[str, Meta(max_length=500)]


def sentence(text: str, limit: int = 500) -> str:
    """`text` on one line, printable, and cut to what a field takes (`Sentence`: 500 characters)."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def printable(text: str) -> str:
    """Spaces in place of the characters that could steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
