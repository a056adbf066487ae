"""Numbers that both ends of every conversation agree on."""

from __future__ import annotations

from goblin_wire.problems import BadMessage, UnsupportedProtocol

PROTOCOL = 1
OLDEST_PROTOCOL = 1

MIB = 1024 * 1024
MAX_JSON_BYTES = 4 * MIB
"""A JSON body above this is refused before it is parsed."""
MAX_GRAPH_BYTES = 4 * MIB
MAX_MANIFEST_BYTES = 8 * MIB
CHUNK_BYTES = 4 * MIB
"""Bulk bytes are read and written in pieces of this size."""
INLINE_BYTES = 64 * MIB
"""An array up to this size is sent to the lab node in one request."""
MAX_BATCH = 256
"""Leases, reports or verdicts in one message."""
MAX_HOLDING = 1024
"""Leases that a host may have open, and names in one message to keep them."""
MAX_UNITS_PER_REGISTRATION = 1024

CAPABILITY_LIFETIME_S = 8 * 24 * 3600
CLOCK_SLACK_S = 120
WAIT_S = 25
"""The longest that a waiting request is held open."""
LAB_SEEN_S = 60
"""A lab that was not heard of for this long is off line; nothing of it is leased."""

CAPABILITY_SCHEME = "Goblin"
"""`Authorization: Goblin <capability>` towards a lab node's data listener."""
DIGEST_HEADER = "Goblin-Digest"
SIGNATURE_HEADER = "Goblin-Signature"
PROTOCOL_HEADER = "Goblin-Protocol"
"""Of every request, so that those without a message carry the version too."""
_LONGEST_VERSION = 9


def require_protocol(spoken: int) -> None:
    """Raise `UnsupportedProtocol` unless the sender speaks a version that we understand."""
    if not OLDEST_PROTOCOL <= spoken <= PROTOCOL:
        raise UnsupportedProtocol(
            f"This end speaks protocol {OLDEST_PROTOCOL} to {PROTOCOL}, the sender speaks {spoken}."
            " Install the current version of the older program."
        )


def require_protocol_header(text: str | None) -> None:
    """The same for the value of `Goblin-Protocol`; a sender that leaves it out speaks the first.

    Raises `BadMessage` where it is no number.
    """
    if text is None:
        text = "1"
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_VERSION:
        raise BadMessage(f"The header {PROTOCOL_HEADER} must hold a whole number.")
    require_protocol(int(text))
