"""`manage.py make_operator EMAIL`: the first person who may use the admin."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import services
from goblin_wire.problems import Problem


class Command(BaseCommand):
    help = "Make the person with this e-mail address an operator; the account is made if absent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *_args: Any, **options: Any) -> str:
        try:
            services.make_operator(options["email"])
        except Problem as problem:
            raise CommandError(problem.detail) from None
        return (
            f"{options['email']} is an operator; `manage.py login_link {options['email']}` logs in."
        )
