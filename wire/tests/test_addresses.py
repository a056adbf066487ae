"""Which endpoints may be talked to."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.addresses import Endpoint, is_public, resolve_endpoint
from goblin_wire.problems import EndpointRefused, EndpointUnreachable

PIN = "ab" * 32
PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1", "198.18.0.1",
    "::1", "::", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "2002:7f00:1::", "2002:a00:1::", "::7f00:1", "fe80::1%eth0",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_ordinary_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_never_makes_it_public(inner: ipaddress.IPv4Address) -> None:
    number = int(inner)
    nat64 = ipaddress.IPv6Address((0x64FF9B << 96) | number)
    sixtofour = ipaddress.IPv6Address((0x2002 << 112) | (number << 80))
    if not is_public(str(inner)):
        assert not is_public(str(nat64))
        assert not is_public(str(sixtofour))
        assert not is_public(f"::ffff:{inner}")


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_a_public_name_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, "93.184.216.34", "8.8.8.8")
    endpoint = resolve_endpoint("https://Lab.Example/", allow_private=False, certificate=PIN)
    assert endpoint == Endpoint("https", "lab.example", 443, "93.184.216.34")
    assert endpoint.origin == "https://93.184.216.34:443"
    assert endpoint.host_header == "lab.example:443"


def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, "93.184.216.34", "192.168.1.1")
    with pytest.raises(EndpointRefused, match="private"):
        resolve_endpoint("https://lab.example", allow_private=False, certificate=PIN)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving_to(monkeypatch, address)
    with pytest.raises(EndpointRefused):
        resolve_endpoint("https://lab.example", allow_private=False, certificate=PIN)


@pytest.mark.parametrize(
    "url",
    [
        "", "lab.example", "ftp://lab.example", "file:///etc/passwd", "https://",
        "https://user:pw@lab.example", "https://lab.example/path", "https://lab.example/?q=1",
        "https://lab.example#x", "https://lab.example:99999", "https://lab.example:0",
        "https://[::1", "https://lab.example:x", "https://\ud800.example", "//lab.example",
    ],
)  # fmt: skip
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(EndpointRefused):
        resolve_endpoint(url, allow_private=True, certificate=PIN)


def test_plain_http_is_for_loopback_in_development() -> None:
    endpoint = resolve_endpoint("http://127.0.0.1:8001", allow_private=True, certificate=None)
    assert endpoint.origin == "http://127.0.0.1:8001"
    with pytest.raises(EndpointRefused):
        resolve_endpoint("http://127.0.0.1:8001", allow_private=False, certificate=None)
    with pytest.raises(EndpointRefused, match="HTTPS"):
        resolve_endpoint("http://10.0.0.1", allow_private=True, certificate=None)
    with pytest.raises(EndpointRefused, match="HTTPS"):
        resolve_endpoint("http://8.8.8.8", allow_private=False, certificate=None)


def test_https_needs_a_certificate() -> None:
    with pytest.raises(EndpointRefused, match="certificate"):
        resolve_endpoint("https://8.8.8.8", allow_private=False, certificate=None)


def test_ipv6_stands_in_brackets() -> None:
    endpoint = resolve_endpoint("https://[::1]:8443", allow_private=True, certificate=PIN)
    assert endpoint.origin == "https://[::1]:8443"
    assert endpoint.host_header == "[::1]:8443"


def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(EndpointUnreachable, match=r"nowhere\.invalid"):
        resolve_endpoint("https://nowhere.invalid", allow_private=True, certificate=PIN)


def test_a_name_with_letters_of_other_alphabets(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, "93.184.216.34")
    endpoint = resolve_endpoint("https://münchen.example", allow_private=False, certificate=PIN)
    assert endpoint.host_header == "xn--mnchen-3ya.example:443"


@given(st.text(max_size=60))
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    try:
        resolve_endpoint("http://[::1]" + text, allow_private=True, certificate=PIN)
    except (EndpointRefused, EndpointUnreachable):
        return
