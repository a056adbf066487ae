"""Headers, cookies, and the checks that refuse a misconfigured site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.test import Client, RequestFactory

from accounts import services
from accounts.limits import client_address
from gpugoblin_site import keys
from gpugoblin_site.settings import BASE_DIR

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_headers_of_pages_and_api(client: Client) -> None:
    page = client.get("/login/").headers
    policy = page["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    for headers in (page, client.post("/api/v1/sign-in").headers):
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.django_db
def test_pages_need_nothing_inline(client: Client) -> None:
    client.force_login(services.make_operator("ada@example.org"))
    for path in ("/login/", "/sign-in/", "/nowhere/"):
        text = client.get(path).content.decode()
        assert " style=" not in text
        assert "<script>" not in text
        assert " onclick" not in text


@pytest.mark.django_db
def test_strict_transport_and_cookies(client: Client, settings: Any) -> None:
    response = client.get("/login/", secure=True)
    assert response.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    response = client.get("/login/?next=/sign-in/", secure=True)
    for cookie in response.cookies.values():
        assert cookie["secure"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
    assert response.cookies.keys() == {"csrftoken", "browser"}


@pytest.mark.django_db
def test_static_files_are_served() -> None:
    response = Client().get("/static/goblin.css")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/css")
    assert b"color-scheme" in response.getvalue()
    response.close()
    of_the_admin = Client().get("/static/admin/css/base.css")
    assert of_the_admin.status_code == 200
    assert of_the_admin.getvalue()
    of_the_admin.close()
    assert (BASE_DIR / "static" / "goblin.svg").exists()


@pytest.mark.parametrize(
    ("proxies", "forwarded", "seen"),
    [
        (0, "203.0.113.9", "10.0.0.1"),
        (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.1, 203.0.113.9", "198.51.100.1"),
        (2, "203.0.113.9", "10.0.0.1"),
        (1, "", "10.0.0.1"),
    ],
)
def test_addresses_behind_proxies(settings: Any, proxies: int, forwarded: str, seen: str) -> None:
    settings.GOBLIN_TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == seen


def found() -> set[str]:
    messages: list[CheckMessage] = run_checks()
    return {str(message.id) for message in messages if str(message.id).startswith("goblin.")}


def test_a_good_configuration_passes() -> None:
    assert [message for message in run_checks() if not message.is_silenced()] == []


def test_a_public_site_with_development_settings(settings: Any) -> None:
    settings.GOBLIN_SITE_URL = "http://gpugoblin.example"
    settings.GOBLIN_WAIT_URL = "nonsense"
    settings.DEBUG = True
    settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS = True
    settings.ALLOWED_HOSTS = ["*"]
    settings.DATABASE_URL = ""
    assert found() == {
        "goblin.E001",
        "goblin.E002",
        "goblin.E005",
        "goblin.E006",
        "goblin.E007",
        "goblin.W001",
        "goblin.W002",
        "goblin.W003",
    }


def test_a_mail_servers_password_is_not_sent_in_the_clear(settings: Any) -> None:
    settings.EMAIL_HOST, settings.EMAIL_HOST_PASSWORD = "mx.example", "secret"
    assert found() == {"goblin.E009"}
    settings.EMAIL_USE_TLS = True
    assert found() == set()
    settings.EMAIL_USE_TLS, settings.EMAIL_HOST = False, "localhost"
    assert found() == set()


def test_an_open_state_directory() -> None:
    keys.directory().chmod(0o755)
    try:
        assert found() == {"goblin.E004"}
    finally:
        keys.directory().chmod(0o700)


def test_settings_from_the_environment(tmp_path: Path) -> None:
    """A public site as an operator configures it; in a process of its own."""
    code = (
        "from django.conf import settings as s; import django; django.setup();"
        "print(s.SESSION_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 0,"
        " s.ALLOWED_HOSTS[0], s.SECURE_PROXY_SSL_HEADER[1], s.DATABASES['default']['NAME']);"
        "from django.core.checks import run_checks;"
        "found = run_checks(include_deployment_checks=True);"
        "print([m.id for m in found if not m.is_silenced()])"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
        "GOBLIN_STATE_DIR": str(tmp_path / "state"),
        "GOBLIN_SITE_URL": "https://gpugoblin.example/",
        "GOBLIN_WAIT_URL": "https://wait.gpugoblin.example",
        "GOBLIN_TRUSTED_PROXIES": "1",
        "DATABASE_URL": "postgres://goblin:x@127.0.0.1:1/network",
        "EMAIL_URL": "smtp+tls://goblin:x@127.0.0.1:1",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}",
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [
        "True",
        "True",
        "True",
        "gpugoblin.example",
        "https",
        "network",
        "[]",
    ]
