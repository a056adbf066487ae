"""What the deletion of an account means for requests, messages, proposals and labs."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.db.models.functions import Lower
from django.dispatch import receiver
from django.utils import timezone

from accounts.models import Account, Person
from accounts.signals import erasing
from goblin_wire.states import RequestState
from research_access import mail
from research_access.models import (
    OPEN_STATES,
    AccessRequest,
    Invitation,
    Lab,
    LabMember,
    LabRole,
    LabState,
    Message,
    Proposal,
    ProposalState,
    Viewing,
)
from research_access.services.moves import record
from research_access.services.proposals import PROPOSAL_LINES, PROPOSAL_TEXTS, record_move
from research_access.services.requests import LINES, TEXTS


@receiver(erasing, dispatch_uid="research_access.erasing")
def clear(account: Account, **_signal: Any) -> None:
    """Clear every text that tells who the person is; decisions and quotas stay as they are."""
    _withdraw_open(account)
    cleared = dict.fromkeys((*LINES, *TEXTS, "search", "institution_search"), "")
    AccessRequest.objects.filter(account=account).update(erased=timezone.now(), **cleared)
    Message.objects.filter(Q(request__account=account) | Q(author=account)).update(text="")
    Viewing.objects.filter(reviewer=account).delete()
    _clear_proposals(account)
    _clear_invitations(account)
    _leave_labs(account)


def _withdraw_open(account: Account) -> None:
    """Nobody is left to answer. No mail: its reader goes."""
    rows = AccessRequest.objects.select_for_update().filter(account=account, state__in=OPEN_STATES)
    for row in rows:
        record(row, RequestState.WITHDRAWN, account)


def _clear_proposals(account: Account) -> None:
    """What the person wrote goes. Titles and answers stay: reviewers wrote them, about no person.
    A proposal that waited is withdrawn, since nothing is left of it to be read."""
    mine = Proposal.objects.select_for_update().filter(account=account)
    for row in mine.filter(state=ProposalState.OPEN):
        record_move(row, account, ProposalState.WITHDRAWN)
    cleared = dict.fromkeys((*PROPOSAL_LINES, *PROPOSAL_TEXTS), "")
    mine.update(erased=timezone.now(), **cleared)


def _clear_invitations(account: Account) -> None:
    person = Person.objects.filter(account=account).first()
    mine = Q(invited_by=account)
    if person is not None:
        mine |= Q(email=person.email)
    for row in Invitation.objects.filter(mine):
        mail.take_invitation_back(row)
        row.delete()


def _leave_labs(account: Account) -> None:
    """A lab goes on under its other owners, the longest one first; without one it is suspended."""
    for lab in Lab.objects.select_for_update().filter(owner=account):
        heir = _heir(lab, account)
        if heir is None:
            # Its name may be the person's.
            lab.state, lab.name = LabState.SUSPENDED, f"lab {lab.key.hex[:12]}"
        else:
            lab.owner = heir.account
        lab.save(update_fields=["owner", "state", "name"])
    LabMember.objects.filter(account=account).delete()


def _heir(lab: Lab, account: Account) -> LabMember | None:
    return (
        LabMember.objects.filter(lab=lab, role=LabRole.OWNER)
        .exclude(account=account)
        .select_related("account")
        .order_by("id")
        .first()
    )


def labs_that_end(account: Account) -> list[str]:
    """The names of the labs that are suspended if this account is deleted, for a warning."""
    others = LabMember.objects.filter(role=LabRole.OWNER).exclude(account=account)
    ending = Lab.objects.filter(owner=account, state=LabState.ACTIVE).exclude(members__in=others)
    return list(ending.order_by(Lower("name")).values_list("name", flat=True))
