"""System checks: a misconfigured site says so before it serves anybody."""

from __future__ import annotations

import stat
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution

from gpugoblin_site import keys

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@register(Tags.security)
def check_addresses(**_options: Any) -> list[CheckMessage]:
    """The addresses that the site tells to others."""
    found: list[CheckMessage] = []
    for name in ("GOBLIN_SITE_URL", "GOBLIN_WAIT_URL"):
        parts = urlsplit(getattr(settings, name))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            found.append(Error(f"{name} is not an http(s) address.", id="goblin.E001"))
        elif parts.scheme == "http" and parts.hostname not in LOOPBACK:
            hint = "Put a reverse proxy with TLS in front and name its address."
            found.append(
                Error(
                    f"{name} is plain HTTP but not loopback: tokens would travel in the clear.",
                    hint=hint,
                    id="goblin.E002",
                )
            )
    return found


@register(Tags.security)
def check_state_directory(**_options: Any) -> list[CheckMessage]:
    """Nobody else may read the keys."""
    try:
        mode = keys.directory().stat().st_mode
        keys.signing_key()
    except (OSError, keys.UnsafeKeyFile) as error:
        return [Error(f"The state directory can't be used: {error}", id="goblin.E003")]
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return [
            Error(
                "GOBLIN_STATE_DIR can be entered by other users.",
                hint="chmod 700 it.",
                id="goblin.E004",
            )
        ]
    return []


@register(Tags.security)
def check_development_settings(**_options: Any) -> list[CheckMessage]:
    """What is fine on one's own machine only."""
    found: list[CheckMessage] = []
    public = urlsplit(settings.GOBLIN_SITE_URL).hostname not in LOOPBACK
    if public and settings.DEBUG:
        found.append(Error("DEBUG is on at a public address.", id="goblin.E005"))
    if public and settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS:
        found.append(
            Error(
                "GOBLIN_ALLOW_PRIVATE_ENDPOINTS is on at a public address: labs could make the site"
                " speak to its own network.",
                id="goblin.E006",
            )
        )
    if public and "*" in settings.ALLOWED_HOSTS:
        found.append(Error("ALLOWED_HOSTS accepts every name.", id="goblin.E007"))
    if public and not settings.DATABASE_URL:
        found.append(
            Caution(
                "A public site runs on the embedded database: set DATABASE_URL.", id="goblin.W001"
            )
        )
    if public and not settings.GOBLIN_TRUSTED_PROXIES:
        found.append(
            Caution(
                "GOBLIN_TRUSTED_PROXIES is 0: all visitors behind the proxy share one rate limit.",
                id="goblin.W002",
            )
        )
    return found


@register(Tags.security)
def check_mail(**_options: Any) -> list[CheckMessage]:
    """People of a public site get their codes by mail."""
    found: list[CheckMessage] = []
    public = urlsplit(settings.GOBLIN_SITE_URL).hostname not in LOOPBACK
    in_clear = not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL)
    if public and urlsplit(settings.EMAIL_URL).scheme in ("consolemail", "filemail"):
        found.append(
            Caution(
                "No mail server is set (EMAIL_URL): nobody gets a log-in code.", id="goblin.W003"
            )
        )
    if settings.EMAIL_HOST_PASSWORD and in_clear and settings.EMAIL_HOST not in LOOPBACK:
        found.append(
            Error(
                "EMAIL_URL sends a password in the clear: use smtp+tls:// or smtps://.",
                id="goblin.E009",
            )
        )
    return found


@register(Tags.database, deploy=True)
def check_engine(**_options: Any) -> list[CheckMessage]:
    """The SQL is PostgreSQL's."""
    if settings.DATABASES["default"]["ENGINE"] != "gpugoblin_site.database":
        return [
            Error(
                "The site runs on PostgreSQL through gpugoblin_site.database only.",
                id="goblin.E008",
            )
        ]
    return []
