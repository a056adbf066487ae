"""`manage.py make_operator EMAIL`: the first person who may use the admin."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import factors, services
from goblin_wire.problems import Problem


class Command(BaseCommand):
    help = "Make the person with this e-mail address an operator; the account is made if absent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument(
            "--new-second-factor",
            action="store_true",
            help="forget the second factor, for who has lost telephone and recovery codes",
        )

    def handle(self, *_args: Any, **options: Any) -> str:
        email = options["email"]
        try:
            account = services.make_operator(email)
        except Problem as problem:
            raise CommandError(problem.detail) from None
        if options["new_second_factor"]:
            factors.remove(account)
        return (
            f"{email} is an operator. The log-in page sends a code by mail, or"
            f" `manage.py login_code {email}` prints one; a second factor is set up on the way"
            " into the administration."
        )
