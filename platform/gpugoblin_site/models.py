"""The tables of the project itself."""

from gpugoblin_site.mail.models import MailState, OutboxMail

__all__ = ["MailState", "OutboxMail"]
