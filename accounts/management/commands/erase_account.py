"""`manage.py erase_account EMAIL --yes`: delete the account of a person who asked for it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import erasure, services
from goblin_wire.problems import Problem


class Command(BaseCommand):
    help = "Delete what tells who a person is, from every table. Nobody can undo it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--yes", action="store_true", help="do it; without it, say what ends")

    def handle(self, *_args: Any, **options: Any) -> str:
        try:
            account = services.account_of(options["email"])
            if account is None:
                raise CommandError("There is no account with this e-mail address.")
            if not options["yes"]:
                return _foretold(erasure.consequences(account))
            erasure.erase(account)
        except Problem as problem:
            raise CommandError(problem.detail) from None
        return f"{account} tells nobody's name any more."


def _foretold(ends: erasure.Consequences) -> str:
    closing = ", ".join(ends.closing) or "none"
    return (
        f"Labs that would be closed: {closing}; labs that would be left: {ends.labs_left};"
        f" tokens that would end: {ends.tokens}. Nothing was changed; --yes does it."
    )
