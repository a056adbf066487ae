"""Labs: opened within an approval, shared among members, left again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account, ApiToken
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from goblin_wire.states import RequestState
from gpugoblin_site.readable import flops
from research_access.models import AccessRequest, Lab, LabMember, LabRole, LabState
from research_access.services import rules
from research_access.services.decisions import approved_flops

MAX_NAME = 120
MAX_LABS = 10
"""So many labs may share one approval."""
MAX_MEMBERS = 200


@transaction.atomic
def create_lab(account: Account, name: str, daily_flops: int | None = None) -> Lab:
    """Open a lab within an approval of `account`, which becomes its owner.

    The labs of one approval share its quota: `daily_flops` is at most what is left, and all that is
    left if not given. Raises `AccountSuspended`, `NotAllowed`, `BadMessage`, or `Conflict` if the
    approval has a lab of this name.
    """
    rules.require_active(account)
    called = lab_name(name)
    request, left = _approval(account, called)
    if daily_flops is not None and not 0 < daily_flops <= left:
        raise NotAllowed(_only(left))
    lab = Lab.objects.create(
        name=called,
        owner=account,
        request=request,
        daily_flops=left if daily_flops is None else daily_flops,
    )
    LabMember.objects.create(lab=lab, account=account, role=LabRole.OWNER)
    return lab


def lab_name(name: str) -> str:
    """A lab's name as it is kept. Raises `BadMessage`."""
    called = clean_name(name, len(name))
    if not called or len(called) > MAX_NAME:
        raise BadMessage(
            _("A lab needs a name of at most {most} characters.").format(most=MAX_NAME)
        )
    return called


def _approval(account: Account, called: str) -> tuple[AccessRequest, int]:
    """The oldest approval that has something left, locked, and how much."""
    approved = list(
        AccessRequest.objects.select_for_update(of=("self",))
        .filter(account=account, state=RequestState.APPROVED.value)
        .order_by("id")
    )
    if not approved:
        raise NotAllowed(_("A lab needs an approved request for access."))
    if Lab.objects.filter(request__in=approved, name=called).exists():
        raise Conflict(_("You have a lab of this name already."))
    lefts = flops_left(approved)
    for request in approved:
        if lefts[request.pk] > 0 and request.labs.count() < MAX_LABS:
            return request, lefts[request.pk]
    raise NotAllowed(
        _(
            "Your labs share out all that was approved. Give one of them less, or ask for more in"
            " another request."
        )
    )


def flops_left(requests: Iterable[AccessRequest]) -> dict[int, int]:
    """What of each approval is given to no lab, by the request's number; two queries."""
    rows = list(requests)
    approved = approved_flops(rows)
    sums = Lab.objects.filter(request__in=rows).values_list("request").annotate(Sum("daily_flops"))
    given = dict(sums.order_by())
    return {row.pk: max(0, approved.get(row.pk, 0) - int(given.get(row.pk, 0))) for row in rows}


def _only(left: int) -> str:
    return _("At most {left} a day are left of what was approved.").format(left=flops(left))


@transaction.atomic
def share_quota(lab: Lab, owner: Account, daily_flops: int) -> Lab:
    """Give a lab of an approval more or less of it. Raises `NotAllowed`."""
    rules.require_lab_owner(lab, owner)
    request = AccessRequest.objects.select_for_update().get(pk=lab.request_id)
    row = Lab.objects.select_for_update(of=("self",)).get(pk=lab.pk)
    most = max(row.daily_flops, flops_left([request])[request.pk] + row.daily_flops)
    if not 0 < daily_flops <= most:
        raise NotAllowed(_only(most))
    row.daily_flops = daily_flops
    row.save(update_fields=["daily_flops"])
    return row


@transaction.atomic
def set_quota(lab: Lab, reviewer: Account, daily_flops: int) -> Lab:
    """Set how much may be leased for a lab in 24 hours, whatever was approved."""
    rules.require_reviewer(reviewer)
    rules.require_quota(daily_flops)
    row = Lab.objects.select_for_update(of=("self",)).get(pk=lab.pk)
    row.daily_flops = daily_flops
    row.save(update_fields=["daily_flops"])
    return row


def add_member(lab: Lab, account: Account, *, by: Account) -> LabMember:
    """Let an account act for a lab. Raises `NotAllowed`, `AccountSuspended` or `Conflict`."""
    rules.require_lab_owner(lab, by)
    rules.require_active(account)
    if lab.members.count() >= MAX_MEMBERS:
        raise NotAllowed(_("A lab has at most {most} members.").format(most=MAX_MEMBERS))
    try:
        with transaction.atomic():
            return LabMember.objects.create(lab=lab, account=account, role=LabRole.MEMBER)
    except IntegrityError:
        raise Conflict(_("The account is a member of the lab already.")) from None


@transaction.atomic
def remove_member(lab: Lab, account: Account, *, by: Account) -> None:
    """End a membership; the account's tokens for this lab are revoked. Raises `NotAllowed`."""
    rules.require_lab_owner(lab, by)
    _part(lab, account)


@transaction.atomic
def leave_lab(lab: Lab, account: Account) -> None:
    """End one's own membership; one's tokens for this lab are revoked. Raises `NotAllowed`."""
    _part(lab, account)


@transaction.atomic
def set_role(lab: Lab, account: Account, role: LabRole, *, by: Account) -> None:
    """Make a member an owner, or an owner a member; one owner remains. Raises `NotAllowed`."""
    rules.require_lab_owner(lab, by)
    member = _member(lab, account)
    if role != LabRole.OWNER and member.role == LabRole.OWNER:
        _require_another_owner(lab, account)
    member.role = role
    member.save(update_fields=["role"])


def _part(lab: Lab, account: Account) -> None:
    member = _member(lab, account)
    if member.role == LabRole.OWNER:
        _require_another_owner(lab, account)
    member.delete()
    revoke_tokens(lab, account)


def _member(lab: Lab, account: Account) -> LabMember:
    """The membership, with the lab locked so that two owners can't both leave at once."""
    Lab.objects.select_for_update(of=("self",)).get(pk=lab.pk)
    member = LabMember.objects.select_for_update().filter(lab=lab, account=account).first()
    if member is None:
        raise NotAllowed(_("The account is not a member of this lab."))
    return member


def _require_another_owner(lab: Lab, account: Account) -> None:
    other = LabMember.objects.filter(lab=lab, role=LabRole.OWNER).exclude(account=account).first()
    if other is None:
        raise NotAllowed(_("A lab can't lose its only owner; make another member an owner first."))
    if lab.owner_id == account.pk:
        Lab.objects.filter(pk=lab.pk).update(owner=other.account_id)


def revoke_tokens(lab: Lab, account: Account) -> int:
    """End an account's tokens for a lab; how many that were."""
    return ApiToken.objects.filter(lab=lab, account=account, revoked__isnull=True).update(
        revoked=timezone.now()
    )


@transaction.atomic
def suspend_lab(lab: Lab, reviewer: Account) -> Lab:
    """Nothing of the lab is leased and none of its tokens works, until it is reinstated."""
    return _set_lab_state(lab, reviewer, LabState.SUSPENDED)


@transaction.atomic
def reinstate_lab(lab: Lab, reviewer: Account) -> Lab:
    if lab.request.state != RequestState.APPROVED:
        raise NotAllowed(_("The approval that this lab rests on was revoked."))
    return _set_lab_state(lab, reviewer, LabState.ACTIVE)


def _set_lab_state(lab: Lab, reviewer: Account, state: LabState) -> Lab:
    rules.require_reviewer(reviewer)
    row = Lab.objects.select_for_update(of=("self",)).get(pk=lab.pk)
    row.state = state
    row.suspended_by = None
    row.save(update_fields=["state", "suspended_by"])
    return row
