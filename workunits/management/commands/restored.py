"""`manage.py restored`: say that the database was restored from a backup."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from workunits.epochs import new_epoch


class Command(BaseCommand):
    help = (
        "After a restore from a backup: begin a new epoch, so that labs register their unfinished"
        " units and verdicts again."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write(f"The epoch is now {new_epoch()}; labs repeat themselves.")
