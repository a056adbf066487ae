"""The site's address as a person gives it to a program that will send its token there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def check_site(url: str) -> str:
    """The site's base URL. Raises `ValueError`: tokens go over HTTPS or to loopback only."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise ValueError(f"{url!r} is not an address.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"The site's address begins with https://, not {url!r}.")
    if parts.username or parts.query or parts.fragment:
        raise ValueError("The site's address holds no user, query or fragment.")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError("A token would travel unprotected: use https://.")
    return url.strip().rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine by its form; nothing is resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
