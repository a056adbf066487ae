"""Invitations into labs: by mail, for one address, once, for a week."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.addresses import folded
from accounts.limits import Limit
from accounts.models import Account, Person
from goblin_wire.problems import Conflict, NotAllowed, NotFound
from research_access import mail
from research_access.models import Invitation, Lab, LabMember, LabState
from research_access.services import rules
from research_access.services.labs import add_member

LIFETIME = timedelta(days=7)
MAX_PENDING = 50
INVITATIONS = Limit("invitations of an account", 50, timedelta(days=1))


def invite(lab: Lab, email: str, by: Account) -> Invitation:
    """Invite the person behind an address; again, while it is pending, sends no second mail.

    Says nothing about whether the address has an account. Raises `NotAllowed`, `BadMessage`,
    `RateLimited`, or `Conflict` where a member has the address.
    """
    rules.require_lab_owner(lab, by)
    rules.require_active(by)
    address = folded(email)
    pending = lab.invitations.filter(email=address, expires__gt=timezone.now()).first()
    if pending is not None:
        return pending
    _require_invitable(lab, address)
    INVITATIONS.count(str(by.pk))
    return _invite(lab, address, by)


def _require_invitable(lab: Lab, address: str) -> None:
    if lab.state != LabState.ACTIVE:
        raise NotAllowed(_("The lab is suspended."))
    if lab.invitations.count() >= MAX_PENDING:
        raise NotAllowed(_("Very many invitations are pending; take some back first."))
    if LabMember.objects.filter(lab=lab, account__person__email=address).exists():
        raise Conflict(_("A member of the lab has this address."))


def _invite(lab: Lab, address: str, by: Account) -> Invitation:
    token = secrets.token_urlsafe(32)
    now = timezone.now()
    try:
        with transaction.atomic():
            Invitation.objects.filter(lab=lab, email=address, expires__lte=now).delete()
            made = Invitation.objects.create(
                lab=lab,
                email=address,
                token_hash=token_hash(token),
                invited_by=by,
                created=now,
                expires=now + LIFETIME,
            )
            mail.invite(made, token)
            return made
    except IntegrityError:
        # The same form, sent twice at once.
        return Invitation.objects.get(lab=lab, email=address)


def find_invitation(token: str, account: Account) -> Invitation:
    """The pending invitation of a link, for its addressee.

    Raises `NotFound` (unknown, used, taken back, expired) or `NotAllowed` (another's address).
    """
    found = (
        Invitation.objects.select_related("lab", "invited_by")
        .filter(token_hash=token_hash(token), expires__gt=timezone.now())
        .first()
    )
    if found is None:
        raise NotFound(
            _("This invitation is not known: it was used, taken back, or has expired. Ask for one.")
        )
    if not Person.objects.filter(account=account, email=found.email).exists():
        raise NotAllowed(
            _("This invitation was sent to another address. Log in with the address it came to.")
        )
    return found


@transaction.atomic
def accept_invitation(token: str, account: Account) -> LabMember:
    """Become a member of the lab. Raises as `find_invitation`, and `AccountSuspended`; `NotAllowed`
    also where the lab is suspended or who invited no longer may."""
    found = find_invitation(token, account)
    row = Invitation.objects.select_for_update(of=("self",)).filter(pk=found.pk).first()
    if row is None:
        raise NotFound
    if found.lab.state != LabState.ACTIVE:
        raise NotAllowed(_("The lab is suspended."))
    member = _joined(found, account)
    row.delete()
    return member


def _joined(found: Invitation, account: Account) -> LabMember:
    try:
        return add_member(found.lab, account, by=found.invited_by)
    except Conflict:
        return LabMember.objects.get(lab=found.lab, account=account)


@transaction.atomic
def refuse_invitation(token: str, account: Account) -> None:
    """Delete an invitation that its addressee does not want. Raises as `find_invitation`."""
    find_invitation(token, account).delete()


@transaction.atomic
def take_back_invitation(invitation: Invitation, by: Account) -> None:
    """End a pending invitation; its mail is stopped if it has not left."""
    rules.require_lab_owner(invitation.lab, by)
    mail.take_invitation_back(invitation)
    invitation.delete()


def purge() -> int:
    """Delete invitations that have expired, and their addresses with them; how many there were."""
    return Invitation.objects.filter(expires__lte=timezone.now()).delete()[0]


def token_hash(token: str) -> str:
    # 256 random bits: a slow hash would add nothing.
    return hashlib.sha256(token.encode()).hexdigest()
