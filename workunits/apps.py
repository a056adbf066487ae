"""The work units as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class WorkunitsConfig(AppConfig):
    name = "workunits"
    verbose_name = "Work units"
    default_auto_field = "django.db.models.BigAutoField"
