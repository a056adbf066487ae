"""Tickets for the waiting process: who waits for what, under a keyed hash."""

from __future__ import annotations

import base64
import binascii
import hmac
import time

import msgspec
from msgspec import Struct

from goblin_wire.problems import CapabilityInvalid
from gpugoblin_site import keys

LIFETIME_S = 300.0
MAX_TICKET = 600
_MAC_BYTES = 16


class ClientTicket(Struct, array_like=True, tag="c"):
    """A host that found no work: the largest memory and catalogue of its hungry devices."""

    account: int
    host: int
    memory: int
    catalogue: int
    until: float
    busy: bool = False
    """It has units in hand and asks for what comes after them."""


class LabTicket(Struct, array_like=True, tag="l"):
    """A lab that has read its events up to (xid, id)."""

    lab: int
    xid: int
    event: int
    devices: int
    """Devices on line that it knows of."""
    until: float


Ticket = ClientTicket | LabTicket
_decoder = msgspec.json.Decoder(Ticket)


def lifetime_end() -> float:
    """Unix seconds until which a ticket made now is good."""
    return time.time() + LIFETIME_S


def seal(ticket: Ticket) -> str:
    body = msgspec.json.encode(ticket)
    return base64.urlsafe_b64encode(_mac(body) + body).rstrip(b"=").decode("ascii")


def unseal(text: str) -> Ticket:
    """The ticket; raises `CapabilityInvalid` for one that is not ours or too old."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raise CapabilityInvalid("The ticket is damaged; ask the site for another.") from None
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if len(text) > MAX_TICKET or not hmac.compare_digest(mac, _mac(body)):
        raise CapabilityInvalid("The ticket is not from this site; ask the site for another.")
    ticket = _decoder.decode(body)
    if ticket.until < time.time():
        raise CapabilityInvalid("The ticket is too old; ask the site for another.")
    return ticket


def _mac(body: bytes) -> bytes:
    return hmac.new(keys.ticket_secret(), body, "sha256").digest()[:_MAC_BYTES]
