"""The work units as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkunitsConfig(AppConfig):
    name = "workunits"
    verbose_name = _("Work units")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gpugoblin_site.health import register_fact
        from gpugoblin_site.metrics import register_figures
        from workunits import erasing  # noqa: F401  (registers itself)
        from workunits.figures import figures, scheduler_fact

        register_fact("scheduler", scheduler_fact)
        register_figures(figures)
