"""Messages to bytes and back, with the size checked before anything is parsed."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from goblin_wire.fields import sentence
from goblin_wire.problems import BadMessage, NotJson, TooLarge
from goblin_wire.protocol import MAX_JSON_BYTES

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def encode(message: Any) -> bytes:
    """JSON bytes of a message."""
    return _encoder.encode(message)


def decode(body: bytes, kind: type[T], *, limit: int = MAX_JSON_BYTES) -> T:
    """A message of type `kind` from JSON bytes.

    Raises `TooLarge`, `NotJson` (also for nesting that no message has) or `BadMessage`.
    """
    if len(body) > limit:
        raise TooLarge(f"The body has {len(body)} bytes, at most {limit} are accepted.")
    try:
        message: T = _decoder(cast("Hashable", kind)).decode(body)
    except msgspec.ValidationError as error:
        raise BadMessage(
            f"The message does not have the expected form: {sentence(str(error))}."
        ) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotJson(f"The body is not valid JSON: {sentence(str(error))}.") from None
    return message
