"""`manage.py rotate_site_key`: a new key to sign capabilities with."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from gpugoblin_site import keys


class Command(BaseCommand):
    help = "Add a new site key. It signs after a restart; the one before it stays valid."

    def handle(self, *_args: Any, **_options: Any) -> str:
        key = keys.rotate_site_key()
        return (
            f"The new key is {key.kid}. Restart the site's processes; labs learn it by themselves."
        )
