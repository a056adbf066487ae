"""The project itself as an app: its system checks and its logs."""

from __future__ import annotations

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "gpugoblin_site"
    verbose_name = "GPU Goblin"

    def ready(self) -> None:
        from gpugoblin_site import checks  # noqa: F401  (registers itself)
        from gpugoblin_site.mail.figures import figures
        from gpugoblin_site.metrics import register_figures

        register_figures(figures)
