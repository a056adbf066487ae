"""The moves of requests and labs. Web, admin and commands all go through these functions.

Each locks the row that it moves, checks the move against `goblin_wire.states.REQUEST_MOVES`, writes
a `Decision`, and queues the mail that tells of it; all of it or nothing is committed. The sentences
of the problems that they raise are in the language of the page.
"""

from research_access.services.decisions import (
    approve,
    approved_flops,
    ask_info,
    decline,
    median_wait,
    revoke,
    undo,
)
from research_access.services.invitations import (
    accept_invitation,
    find_invitation,
    invite,
    refuse_invitation,
    take_back_invitation,
)
from research_access.services.labs import (
    add_member,
    create_lab,
    flops_left,
    leave_lab,
    reinstate_lab,
    remove_member,
    set_quota,
    set_role,
    share_quota,
    suspend_lab,
)
from research_access.services.moves import latest
from research_access.services.proposals import (
    Answer,
    answer_proposal,
    planned_proposals,
    propose,
    withdraw_proposal,
)
from research_access.services.requests import (
    apply_again,
    draft,
    open_request,
    reply,
    save_draft,
    submit_request,
    tell,
    withdraw,
)
from research_access.services.rules import DEFAULT_DAILY_FLOPS, MAX_DAILY_FLOPS, REVIEW_PERMISSION

__all__ = [
    "DEFAULT_DAILY_FLOPS",
    "MAX_DAILY_FLOPS",
    "REVIEW_PERMISSION",
    "Answer",
    "accept_invitation",
    "add_member",
    "answer_proposal",
    "apply_again",
    "approve",
    "approved_flops",
    "ask_info",
    "create_lab",
    "decline",
    "draft",
    "find_invitation",
    "flops_left",
    "invite",
    "latest",
    "leave_lab",
    "median_wait",
    "open_request",
    "planned_proposals",
    "propose",
    "refuse_invitation",
    "reinstate_lab",
    "remove_member",
    "reply",
    "revoke",
    "save_draft",
    "set_quota",
    "set_role",
    "share_quota",
    "submit_request",
    "suspend_lab",
    "take_back_invitation",
    "tell",
    "undo",
    "withdraw",
    "withdraw_proposal",
]
