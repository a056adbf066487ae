"""`manage.py login_link EMAIL`: a one-time link that logs a person in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import services
from goblin_wire.problems import Problem


class Command(BaseCommand):
    help = "Print a link that logs the person with this e-mail address in, once, for 15 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *_args: Any, **options: Any) -> str:
        try:
            account = services.account_of(options["email"])
            if account is None:
                raise CommandError("There is no account with this e-mail address.")
            secret = services.new_login_link(account)
        except Problem as problem:
            raise CommandError(problem.detail) from None
        return f"{settings.GOBLIN_SITE_URL}/login/?{urlencode({'token': secret})}"
