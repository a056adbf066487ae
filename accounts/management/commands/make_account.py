"""`manage.py make_account EMAIL`: an account for a person who asked the operators for one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import services
from goblin_wire.problems import Problem
from goblin_wire.tokens import Scope


class Command(BaseCommand):
    help = "Make an account for the person with this e-mail address; it may lend machines."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--name", default="", help="the person's name")
        parser.add_argument(
            "--token",
            choices=[Scope.VOLUNTEER.value],
            help="print a token too, for `goblin-client join --token`",
        )

    def handle(self, *_args: Any, **options: Any) -> str:
        email = options["email"]
        try:
            with transaction.atomic():
                account = services.create_account(email, name=options["name"])
                if options["token"]:
                    return services.issue_token(account, Scope(options["token"]))
        except Problem as problem:
            raise CommandError(problem.detail) from None
        return (
            f"{email} has an account; `manage.py login_code {email}` prints a code to log in with."
        )
