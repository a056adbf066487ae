"""Which network addresses may be talked to.

A lab's endpoint comes from somebody else: it must not lead a volunteer's machine, or the site, to
a router, to loopback or to anything else that is private.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from goblin_wire.problems import EndpointRefused, EndpointUnreachable

DEFAULT_PORTS = {"http": 80, "https": 443}
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class Endpoint(NamedTuple):
    """An endpoint resolved once: connect to `address`, speak to `host`."""

    scheme: str
    host: str
    port: int
    address: str

    @property
    def origin(self) -> str:
        """Base URL with the resolved address in place of the name."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def resolve_endpoint(url: str, *, allow_private: bool, certificate: str | None) -> Endpoint:
    """Check and resolve a lab's endpoint URL.

    Plain HTTP and a missing certificate are accepted for loopback only, and loopback, private,
    link-local, multicast and other special addresses only with `allow_private`.
    Raises `EndpointRefused` or `EndpointUnreachable` (the name does not resolve).
    """
    scheme, host, port = _parse(url)
    addresses = _resolve(host, port)
    if not allow_private and not all(is_public(address) for address in addresses):
        raise EndpointRefused(
            f"The address {host} is loopback, private or special; only public addresses are used."
        )
    address = addresses[0]
    loopback = ipaddress.ip_address(address).is_loopback
    if scheme == "http" and not loopback:
        raise EndpointRefused("Plain HTTP is accepted for loopback only; use HTTPS.")
    if scheme == "https" and certificate is None:
        raise EndpointRefused("An HTTPS endpoint needs the SHA-256 of its certificate.")
    return Endpoint(scheme, host, port, address)


def _parse(url: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EndpointRefused("The endpoint is not a valid address.") from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise EndpointRefused("An endpoint begins with https:// and names a host.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointRefused("An endpoint holds no user, query or fragment.")
    if parts.path not in ("", "/"):
        raise EndpointRefused("An endpoint holds no path.")
    if port == 0:
        raise EndpointRefused("An endpoint can't have port 0.")
    return parts.scheme, _ascii(parts.hostname), port or DEFAULT_PORTS[parts.scheme]


def _ascii(host: str) -> str:
    """The name as it stands in a Host header."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise EndpointRefused("The endpoint's name is not a valid host name.") from None


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise EndpointUnreachable(f"The name {host} does not resolve.") from None
    addresses = [_mapped(str(entry[4][0])) for entry in found]
    if not addresses:
        raise EndpointUnreachable(f"The name {host} does not resolve.")
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address is an ordinary one of the internet.

    An IPv4 address that is wrapped in an IPv6 one (mapped, 6to4, NAT64, Teredo) counts as what
    is inside: a gateway would lead there.
    """
    parsed = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(parsed, ipaddress.IPv4Address):
        return _is_ordinary(parsed)
    if parsed in NAT64:
        return _is_ordinary(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    return _is_ordinary(parsed) and all(_is_ordinary(inner) for inner in _wrapped(parsed))


def _is_ordinary(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not special and not site_local


def _wrapped(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    teredo = address.teredo[1] if address.teredo is not None else None
    candidates = [address.ipv4_mapped, address.sixtofour, teredo]
    return [candidate for candidate in candidates if candidate is not None]


def _mapped(address: str) -> str:
    """The plain form: without zone, and IPv4 where it is only wrapped for IPv6 sockets."""
    parsed = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(parsed)
