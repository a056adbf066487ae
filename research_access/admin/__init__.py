"""The admin of requests and labs: the queue, the page to decide on, replies, proposals, labs."""

from research_access.admin.labs import LabAdmin
from research_access.admin.proposals import ProposalAdmin
from research_access.admin.queue import AccessRequestAdmin
from research_access.admin.replies import SavedReplyAdmin

__all__ = ["AccessRequestAdmin", "LabAdmin", "ProposalAdmin", "SavedReplyAdmin"]
