"""Speaks to the mail server step by step and says where it stops."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterator

from django.conf import settings
from django.core.mail import get_connection

from gpugoblin_site.mail.smtp import EmailBackend

REFUSALS = 400


class Stopped(Exception):
    """The step that failed, and what may mend it."""


def steps() -> Iterator[str]:
    """A sentence for each step that went well. Raises `Stopped` at the first that did not."""
    backend = get_connection()
    if not isinstance(backend, EmailBackend):
        yield "No mail server is set (EMAIL_URL): mails are printed or written to files only."
        return
    address = _resolved()
    yield f"The name {settings.EMAIL_HOST} leads to {address}."
    server = _connected(backend.ssl_context)
    try:
        yield f"Port {settings.EMAIL_PORT} answers as a mail server."
        yield from _secured(server, backend.ssl_context)
        yield from _logged_in(server)
        yield from _sender_accepted(server)
    finally:
        server.close()


def _resolved() -> str:
    host = settings.EMAIL_HOST
    try:
        found = socket.getaddrinfo(host, settings.EMAIL_PORT, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Stopped(f"The name {host} leads nowhere ({error}): is it spelled right?") from None
    return str(found[0][4][0])


def _connected(context: ssl.SSLContext) -> smtplib.SMTP:
    host, port, timeout = settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT
    try:
        if settings.EMAIL_USE_SSL:
            return smtplib.SMTP_SSL(host, port, timeout=timeout, context=context)
        return smtplib.SMTP(host, port, timeout=timeout)
    except ssl.SSLError as error:
        raise Stopped(_untrusted(error)) from None
    except OSError as error:
        raise Stopped(
            f"Port {settings.EMAIL_PORT} does not answer as a mail server ({error}): is the port"
            " right, and does a firewall let it through?"
        ) from None


def _secured(server: smtplib.SMTP, context: ssl.SSLContext) -> Iterator[str]:
    if settings.EMAIL_USE_SSL:
        yield "The connection is encrypted and the certificate is trusted."
        return
    if not settings.EMAIL_USE_TLS:
        yield "The connection is not encrypted (smtp://): right for a relay on this machine only."
        return
    try:
        server.starttls(context=context)
    except ssl.SSLError as error:
        raise Stopped(_untrusted(error)) from None
    except OSError as error:
        raise Stopped(f"The server does not start TLS ({error}): is the port 587?") from None
    yield "The connection is encrypted and the certificate is trusted."


def _logged_in(server: smtplib.SMTP) -> Iterator[str]:
    if not settings.EMAIL_HOST_USER:
        yield "No user is named: the server must take mail from this machine without one."
        return
    try:
        server.login(settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD)
    except OSError as error:
        raise Stopped(f"The log-in as {settings.EMAIL_HOST_USER} is refused ({error}).") from None
    yield f"The log-in as {settings.EMAIL_HOST_USER} works."


def _sender_accepted(server: smtplib.SMTP) -> Iterator[str]:
    """Begin a mail and take it back: some servers refuse a sender that is not theirs."""
    sender = smtplib.quoteaddr(settings.GOBLIN_MAIL_BOUNCES or settings.DEFAULT_FROM_EMAIL)
    try:
        server.ehlo_or_helo_if_needed()
        code, said = server.mail(sender.strip("<>"))
        server.rset()
    except OSError as error:
        raise Stopped(f"The server went away when a mail was begun ({error}).") from None
    if code >= REFUSALS:
        words = said.decode("utf-8", "replace")
        raise Stopped(f"The server refuses the sender {sender} ({code} {words}).")
    yield f"The server takes mail from {sender}."


def _untrusted(error: ssl.SSLError) -> str:
    return (
        f"The connection can't be encrypted ({error}): port 465 needs smtps://, port 587 smtp+tls://,"
        " and the certificate must name the host."
    )
