"""Canonical JSON: sorted keys, no white space, ASCII, integers below 2^53, no floats, no null.

Float attributes travel as hexadecimal strings, so that one number has one spelling.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from opgraph.errors import FormError

LARGEST_INTEGER = 2**53 - 1
_DIGITS = len(str(LARGEST_INTEGER)) + 1
_LONGEST_TEXT = 32

Number = TypeVar("Number", int, float)


def encode(value: object) -> bytes:
    """The canonical bytes of a tree of dicts, lists, strings, integers and booleans."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("ascii")


def decode(data: bytes, largest: int) -> Any:
    """The tree in at most `largest` bytes. Raises FormError; the caller compares the bytes."""
    if len(data) > largest:
        raise FormError("graph_too_long", f"A graph of {len(data)} bytes; {largest} are allowed.")
    try:
        return json.loads(
            data.decode("ascii"),
            object_pairs_hook=_object,
            parse_constant=_refuse_number,
            parse_float=_refuse_number,
            parse_int=_integer,
        )
    except FormError:
        raise
    except RecursionError:
        raise FormError("not_json", "The graph is nested too deeply.") from None
    except ValueError as error:
        raise FormError("not_json", f"The graph is not ASCII JSON: {error}.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FormError("duplicate_key", "A key of the graph appears twice.")
    return found


def _refuse_number(text: str) -> NoReturn:
    raise FormError("not_an_integer", f"The number {text[:32]} is not an integer.")


def _integer(text: str) -> int:
    # Digits are counted first: converting a very long number is slow, or raises.
    if len(text) > _DIGITS or abs(int(text)) > LARGEST_INTEGER:
        raise FormError("integer_too_large", "A number of the graph is not below 2^53.")
    return int(text)


_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def float_to_text(value: float) -> str:
    """The one spelling of a float attribute."""
    return value.hex() if math.isfinite(value) else str(value)


def text_to_float(text: str) -> float:
    """The float of that spelling. Raises FormError."""
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    return _parsed(text, float.fromhex)


def text_to_integer(text: str) -> int:
    """The integer of a decimal string of at most 20 digits. Raises FormError."""
    return _parsed(text, int)


def _parsed(text: str, parse: Callable[[str], Number]) -> Number:
    try:
        if len(text) <= _LONGEST_TEXT:
            return parse(text)
    except (ValueError, OverflowError):
        pass
    raise FormError("wrong_attributes", f"{text[:32]!r} is not the text of a number.")
