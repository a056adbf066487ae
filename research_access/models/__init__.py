"""Requests for access, the conversation and decisions about them, and the labs that follow."""

from research_access.models.conversation import Message, SavedReply, Viewing
from research_access.models.decision import Decision
from research_access.models.invitation import Invitation
from research_access.models.lab import Lab, LabMember, LabRole, LabState
from research_access.models.proposal import (
    PROPOSAL_MOVES,
    Proposal,
    ProposalMove,
    ProposalState,
)
from research_access.models.request import OPEN_STATES, AccessRequest, Kind

__all__ = [
    "OPEN_STATES",
    "PROPOSAL_MOVES",
    "AccessRequest",
    "Decision",
    "Invitation",
    "Kind",
    "Lab",
    "LabMember",
    "LabRole",
    "LabState",
    "Message",
    "Proposal",
    "ProposalMove",
    "ProposalState",
    "SavedReply",
    "Viewing",
]
