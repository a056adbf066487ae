"""Admin pages of the project's own tables."""

from gpugoblin_site.mail.admin import OutboxAdmin

__all__ = ["OutboxAdmin"]
