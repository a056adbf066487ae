"""`manage.py login_code EMAIL`: a code for the log-in page, for when no mail can be sent."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import login, services
from accounts.addresses import folded
from goblin_wire.problems import Problem

SAID = """\
{code}

Open {site}/login/, type {email}, then this code in place of the one from the mail.
It works once, for {minutes} minutes."""


class Command(BaseCommand):
    help = "Print a code that logs the person with this e-mail address in, once, for 15 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *_args: Any, **options: Any) -> str:
        try:
            account = services.account_of(options["email"])
            if account is None:
                raise CommandError("There is no account with this e-mail address.")
            code = login.operators_code(account)
        except Problem as problem:
            raise CommandError(problem.detail) from None
        return SAID.format(
            code=code,
            site=settings.GOBLIN_SITE_URL,
            email=folded(options["email"]),
            minutes=int(login.LIFETIME.total_seconds() // 60),
        )
