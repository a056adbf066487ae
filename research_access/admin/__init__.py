"""The admin of requests and labs: the review queue, the page to decide on, saved replies, labs."""

from research_access.admin.labs import LabAdmin
from research_access.admin.queue import AccessRequestAdmin
from research_access.admin.replies import SavedReplyAdmin

__all__ = ["AccessRequestAdmin", "LabAdmin", "SavedReplyAdmin"]
