"""The site's address as a person types it."""

from __future__ import annotations

import pytest

from goblin_wire.site_address import check_site


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://site.example", "unprotected"),
        ("http://203.0.113.7", "unprotected"),
        ("ftp://127.0.0.1", "begins with https://"),
        ("site.example", "'site.example'"),
        ("https://", "begins with https://"),
        ("https://a:b@c", "no user"),
        ("https://h/?q=1", "query"),
        ("http://[::1", "not an address"),
        ("https://h:99999", "not an address"),
    ],
)
def test_what_is_no_site_is_told(url: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_site(url)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        (" https://site.example/ ", "https://site.example"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_the_base_url(url: str, base: str) -> None:
    assert check_site(url) == base
