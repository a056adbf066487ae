"""`manage.py mail_bounced`: take in what mail servers report about mails that did not arrive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gpugoblin_site.mail import bounces

BY_HAND = "An operator read that it came back."


class Command(BaseCommand):
    help = (
        "Read reports of delivery (RFC 3464) from files, or one from standard input, and mark the"
        " mails that they are about. A mail server can pipe the bounce address into it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, help="reports; none: standard input")
        parser.add_argument("--id", help="Message-ID of a mail that came back, instead of a report")
        parser.add_argument("--says", default=BY_HAND, help="with --id: what was said about it")

    def handle(self, *_args: Any, **options: Any) -> str:
        if options["id"]:
            return self._by_hand(options["id"], options["says"])
        files: list[Path] = options["files"]
        if not files:
            return _sentence("standard input", sys.stdin.buffer.read(bounces.MAX_REPORT))
        return "\n".join(_sentence(str(file), _read(file)) for file in files)

    def _by_hand(self, message_id: str, says: str) -> str:
        uid = bounces.uid_of(message_id)
        if uid is None:
            raise CommandError("This is no Message-ID of this site's mails.")
        mail = bounces.take_in_by_hand(uid, says)
        if mail is None:
            raise CommandError("No mail with this Message-ID was sent, or it came back before.")
        return f"{mail} is marked as come back."


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(bounces.MAX_REPORT)
    except OSError as error:
        raise CommandError(f"{file} can't be read: {error.strerror}.") from None


def _sentence(name: str, content: bytes) -> str:
    """Never an error: a mail server would bounce the report back to somebody."""
    if bounces.parse(content) is None:
        return f"{name}: no report of delivery; nothing was changed."
    mail = bounces.take_in(content)
    if mail is None:
        return f"{name}: about no mail that was sent, or not for good; nothing was changed."
    return f"{name}: {mail} is marked as come back."
