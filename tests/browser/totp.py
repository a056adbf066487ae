"""The app on an operator's telephone (RFC 6238: six digits, 30 seconds, SHA-1)."""

import base64
import hashlib
import hmac
import time


def code(secret: str) -> str:
    """What the app shows now for a secret in base 32, blanks allowed."""
    letters = "".join(secret.split()).upper()
    key = base64.b32decode(letters + "=" * (-len(letters) % 8))
    step = int(time.time() // 30).to_bytes(8, "big")
    digest = hmac.new(key, step, hashlib.sha1).digest()
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**6:06}"
