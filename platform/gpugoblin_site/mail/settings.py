"""How `EMAIL_URL` is read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_SMTP = "gpugoblin_site.mail.smtp.EmailBackend"
_DJANGO = "django.core.mail.backends"
_SCHEMES = {
    "smtp": (_SMTP, 25),
    "smtp+tls": (_SMTP, 587),
    "smtps": (_SMTP, 465),
    "consolemail": (f"{_DJANGO}.console.EmailBackend", 0),
    "filemail": (f"{_DJANGO}.filebased.EmailBackend", 0),
}


@dataclass(frozen=True)
class MailSettings:
    backend: str
    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool
    folder: str | None


def of_url(url: str) -> MailSettings:
    """`smtp+tls://user:password@host:587` (STARTTLS, the usual), `smtps://` (TLS from the first
    byte, 465), `smtp://` (in the clear: for a relay on this machine), `filemail:///folder`, or
    `consolemail://`. Raises `ImproperlyConfigured`, without the password in its sentence."""
    try:
        parts = urlsplit(url)
        backend, port = _SCHEMES[parts.scheme]
        given = parts.port
    except (KeyError, ValueError):
        schemes = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
        raise ImproperlyConfigured(f"EMAIL_URL must be one of {schemes}.") from None
    if backend == _SMTP and not parts.hostname:
        raise ImproperlyConfigured("EMAIL_URL names no mail server.")
    return _settings(parts, backend, given or port)


def _settings(parts: SplitResult, backend: str, port: int) -> MailSettings:
    return MailSettings(
        backend=backend,
        host=parts.hostname or "",
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
        folder=unquote(parts.path) or None,
    )
