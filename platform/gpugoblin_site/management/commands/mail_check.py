"""`manage.py mail_check`: what is set, whether the mail server answers, and a mail on trial."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from goblin_wire.problems import Problem
from gpugoblin_site.mail import delivery, figures, outbox, probe
from gpugoblin_site.mail.models import MailState, OutboxMail

ATTEMPT_S = 90.0


class Command(BaseCommand):
    help = "Say step by step whether the site can send mail; with --to, send one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", help="send a mail on trial to this address")

    def handle(self, *_args: Any, **options: Any) -> None:
        self._say(f"Mails come from {settings.DEFAULT_FROM_EMAIL} (GOBLIN_MAIL_FROM).")
        reports = (
            settings.GOBLIN_MAIL_BOUNCES or "the same address (GOBLIN_MAIL_BOUNCES is not set)"
        )
        self._say(f"Reports of mail servers go to {reports}.")
        self._outbox()
        try:
            for sentence in probe.steps():
                self._say(sentence)
        except probe.Stopped as problem:
            raise CommandError(f"Stopped: {problem}") from None
        if options["to"]:
            self._send(options["to"])

    def _say(self, sentence: str) -> None:
        self.stdout.write(f"- {sentence}")

    def _outbox(self) -> None:
        now = figures.summary()
        oldest = f", the oldest for {timedelta(seconds=round(now.oldest_s))}" if now.due else ""
        self._say(
            f"Outbox: {now.due} should leave now{oldest}; in the last 24 hours {now.sent} sent,"
            f" {now.failed} failed, {now.bounced} came back, {now.expired} were too old to be of"
            " use."
        )

    def _send(self, address: str) -> None:
        try:
            mail = outbox.queue(address, "check", {}, key=f"check:{uuid.uuid4().hex}")
        except Problem as problem:
            raise CommandError(problem.detail) from None
        delivery.deliver_one(mail.pk)
        found = _settled(mail)
        if found.state != MailState.SENT:
            reason = f"{found.get_code_display()} {found.detail}".strip()
            raise CommandError(f"Stopped: the mail is {found.get_state_display()}: {reason}")
        self._say(f"A mail went to {address}: look whether it arrives, and not among the spam.")


def _settled(mail: OutboxMail) -> OutboxMail:
    """The mail once an attempt has ended; a thread or the scheduler may have been quicker."""
    ends = time.monotonic() + ATTEMPT_S
    while time.monotonic() < ends:
        found = OutboxMail.objects.get(pk=mail.pk)
        if found.state != MailState.SENDING and (found.attempts or found.finished):
            return found
        time.sleep(0.1)
    return OutboxMail.objects.get(pk=mail.pk)
