"""Capabilities: what the site allows one lease to do at one lab node, signed with Ed25519.

`TOKEN = base64url(claims as JSON) + "." + base64url(signature over the first part)`.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Meta, Struct

from goblin_wire.fields import Count, Digest, Id, ShortText, Size
from goblin_wire.problems import CapabilityExpired, CapabilityInvalid
from goblin_wire.protocol import CAPABILITY_LIFETIME_S, CLOCK_SLACK_S
from goblin_wire.states import LeaseRole

MAX_TOKEN = 4096
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class Claims(Struct, kw_only=True, omit_defaults=True):
    """What a capability says. `issued` is the site's clock in Unix seconds."""

    kid: Annotated[str, Meta(max_length=32)]
    lab: Id
    lease: Id
    role: LeaseRole = LeaseRole.COMPUTE
    copy: Count = 0
    unit: Id
    manifest: Digest
    output_bytes: Size
    host: Id
    volunteer: ShortText
    device_class: ShortText = ""
    issued: float
    lifetime: float = float(CAPABILITY_LIFETIME_S)


class SigningKey:
    """The site's (or a lab's) Ed25519 key."""

    def __init__(self, private: Ed25519PrivateKey, kid: str = "") -> None:
        self._private = private
        self.public = public_bytes(private.public_key()).hex()
        self.kid = kid or self.public[:16]

    @classmethod
    def generate(cls) -> SigningKey:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, raw: bytes) -> SigningKey:
        """A key from its 32 private bytes."""
        return cls(Ed25519PrivateKey.from_private_bytes(raw))

    def to_bytes(self) -> bytes:
        """The 32 private bytes, to be kept in a file with mode 0600."""
        return self._private.private_bytes(
            serialization.Encoding.Raw,
            serialization.PrivateFormat.Raw,
            serialization.NoEncryption(),
        )

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)


def public_bytes(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def signature_is_valid(public_key: str, message: bytes, signature: bytes) -> bool:
    """Whether `signature` over `message` was made with the key (hexadecimal raw public key)."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def issue(key: SigningKey, claims: Claims) -> str:
    """The signed token for `claims`; `claims.kid` must be the key's."""
    body = _encode(msgspec.json.encode(claims))
    return f"{body}.{_encode(key.sign(body.encode('ascii')))}"


def read(token: str, keys: dict[str, str], *, now: float, slack: float = CLOCK_SLACK_S) -> Claims:
    """The claims of a token.

    `keys` maps key ids to raw public keys in hexadecimal, `now` is the site's clock in Unix
    seconds. Raises `CapabilityInvalid` or `CapabilityExpired`.
    """
    body, signature = _split(token)
    claims = _claims(body)
    public = keys.get(claims.kid)
    if public is None or not signature_is_valid(public, body.encode("ascii"), signature):
        raise CapabilityInvalid
    if not claims.issued - slack <= now <= claims.issued + claims.lifetime + slack:
        raise CapabilityExpired
    return claims


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    if _BASE64URL.fullmatch(text) is None:  # Python's decoder skips what it does not know
        raise CapabilityInvalid
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise CapabilityInvalid from None


def _split(token: str) -> tuple[str, bytes]:
    body, dot, signature = token.partition(".")
    if len(token) > MAX_TOKEN or not dot:
        raise CapabilityInvalid
    return body, _decode(signature)


def _claims(body: str) -> Claims:
    try:
        return msgspec.json.decode(_decode(body), type=Claims)
    except (msgspec.DecodeError, RecursionError):
        raise CapabilityInvalid from None
