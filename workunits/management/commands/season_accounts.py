"""`manage.py season_accounts`: accounts that count as proven, for benchmarks and tests."""

from __future__ import annotations

import json
import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from accounts.services import create_account, issue_token
from goblin_wire.tokens import Scope
from workunits.limits import NEW_ACCOUNT_UNITS
from workunits.models import Standing


class Command(BaseCommand):
    help = (
        "Make volunteers' accounts that have passed their first units, and print their tokens as"
        " JSON. For benchmarks and tests: no work was verified for them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--number", type=int, default=16)

    def handle(self, *_args: Any, **options: Any) -> None:
        tokens = [self._make() for _ in range(options["number"])]
        self.stdout.write(json.dumps({"volunteers": [{"token": token} for token in tokens]}))

    def _make(self) -> str:
        with transaction.atomic():
            account = create_account(f"seasoned-{secrets.token_hex(8)}@example.org")
            Standing.objects.create(
                account=account, accepted=NEW_ACCOUNT_UNITS, proven=NEW_ACCOUNT_UNITS
            )
            return issue_token(account, Scope.VOLUNTEER)
