from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ResearchAccessConfig(AppConfig):
    name = "research_access"
    verbose_name = _("Research access")

    def ready(self) -> None:
        """Hear of accounts that are deleted."""
        from research_access import erasing  # noqa: F401  (registers itself)
