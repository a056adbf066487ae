"""What the operator reads, step by step, with a mail server in every state."""

from __future__ import annotations

import io
import ssl
from pathlib import Path

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import Settings

from gpugoblin_site.mail import delivery, outbox
from gpugoblin_site.mail import settings as mail_settings
from tests.mail.conftest import Post

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse"


def said(**options: str) -> str:
    out = io.StringIO()
    call_command("mail_check", stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def safe_post(
    post: Post, certificate: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Post:
    """A server as providers run them: STARTTLS, then a user and a password."""
    post.stop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    post.options = {
        "tls_context": context,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": _authenticate,
    }
    post.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    settings.EMAIL_USE_TLS = True
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "goblin", PASSWORD
    return post


def _authenticate(*arguments: object) -> AuthResult:
    given = arguments[-1]
    assert isinstance(given, LoginPassword)
    return AuthResult(success=given.password == PASSWORD.encode())


def test_all_is_well(safe_post: Post) -> None:
    text = said(to="ada@example.org")
    assert "encrypted and the certificate is trusted" in text
    assert "log-in as goblin works" in text
    assert "A mail went to ada@example.org" in text
    assert safe_post.recipients == ["ada@example.org"]
    assert PASSWORD not in text


def test_a_certificate_that_nobody_vouches_for(
    safe_post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(CommandError, match="can't be encrypted"):
        said()
    outbox.queue("ada@example.org", "check", {}, key="check:1")
    assert delivery.deliver_due() == 0
    assert safe_post.mails == []


def test_a_wrong_password(safe_post: Post, settings: Settings) -> None:
    settings.EMAIL_HOST_PASSWORD = "wrong"
    with pytest.raises(CommandError, match="log-in as goblin is refused"):
        said()


def test_a_refused_sender(post: Post) -> None:
    post.refuse["mail"] = "553 not yours"
    with pytest.raises(CommandError, match="refuses the sender"):
        said()


def test_a_refused_recipient(post: Post) -> None:
    post.refuse["rcpt"] = "550 no such person"
    with pytest.raises(CommandError, match="no such person"):
        said(to="ada@example.org")
    with pytest.raises(CommandError, match="not an e-mail address"):
        said(to="ada")


def test_nobody_there(post: Post) -> None:
    post.stop()
    with pytest.raises(CommandError, match="does not answer as a mail server"):
        said()


def test_a_name_that_leads_nowhere(post: Post, settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.invalid"
    with pytest.raises(CommandError, match="leads nowhere"):
        said()


def test_without_a_server() -> None:
    assert "No mail server is set" in said()


@pytest.mark.parametrize(
    ("url", "port", "starttls", "tls"),
    [
        ("smtp+tls://u%40x:p%3Aw@mx.example:2525", 2525, True, False),
        ("smtp+tls://u%40x:p%3Aw@mx.example", 587, True, False),
        ("smtps://u%40x:p%3Aw@mx.example", 465, False, True),
        ("smtp://u%40x:p%3Aw@mx.example", 25, False, False),
    ],
)
def test_addresses_of_mail_servers(url: str, port: int, starttls: bool, tls: bool) -> None:
    found = mail_settings.of_url(url)
    assert (found.host, found.port) == ("mx.example", port)
    assert (found.starttls, found.tls) == (starttls, tls)
    assert (found.user, found.password) == ("u@x", "p:w")


@pytest.mark.parametrize("url", ["", "mx.example", "smtp://", "http://mx", "smtp://mx:secret:1"])
def test_nonsense_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        mail_settings.of_url(url)
    assert "secret" not in str(caught.value)
