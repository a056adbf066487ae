"""The moves of requests and labs. Web, admin and commands all go through these functions.

Each locks the row that it moves, checks the move against `goblin_wire.states.REQUEST_MOVES`, and
writes a `Decision`.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Account, AccountState
from goblin_wire.problems import AccountSuspended, BadMessage, Conflict, NotAllowed
from goblin_wire.states import REQUEST_MOVES, RequestState
from research_access.models import AccessRequest, Decision, Lab, LabMember, LabRole, LabState

DEFAULT_DAILY_FLOPS = 10**18
MAX_DAILY_FLOPS = 2**63 - 1
REVIEW_PERMISSION = "research_access.review_accessrequest"
EDITABLE = frozenset({RequestState.DRAFT, RequestState.INFO_ASKED})
FIELDS = frozenset({"title", "institution", "purpose", "daily_flops"})


def draft_request(
    account: Account,
    *,
    title: str,
    institution: str = "",
    purpose: str = "",
    daily_flops: int | None = None,
) -> AccessRequest:
    """A new request, not yet sent. Raises `AccountSuspended` or `BadMessage`."""
    _require_active(account)
    fields = {
        "title": title,
        "institution": institution,
        "purpose": purpose,
        "daily_flops": daily_flops,
    }
    _require_fitting(fields)
    return AccessRequest.objects.create(account=account, **fields)


@transaction.atomic
def edit_request(request: AccessRequest, account: Account, **fields: Any) -> AccessRequest:
    """Change a draft, or what more was asked about. Raises `NotAllowed` or `BadMessage`."""
    locked = _locked(request)
    _require_owner(locked, account)
    if locked.state not in EDITABLE:
        raise NotAllowed("A request that was sent can only be changed when more is asked about it.")
    if not fields.keys() <= FIELDS:
        raise BadMessage("A request has no such field.")
    _require_fitting(fields)
    for name, value in fields.items():
        setattr(locked, name, value)
    locked.changed = timezone.now()
    locked.save(update_fields=[*fields, "changed"])
    return locked


@transaction.atomic
def submit_request(request: AccessRequest, account: Account) -> AccessRequest:
    """Send a draft, or the answer to a question, to the reviewers."""
    locked = _locked(request)
    _require_owner(locked, account)
    _require_active(account)
    if not locked.title.strip() or not locked.purpose.strip():
        raise BadMessage("A request needs a title and a purpose before it is sent.")
    locked.submitted = locked.submitted or timezone.now()
    return _move(locked, RequestState.SUBMITTED, account)


@transaction.atomic
def withdraw(request: AccessRequest, account: Account) -> AccessRequest:
    """Take a request back."""
    locked = _locked(request)
    _require_owner(locked, account)
    return _move(locked, RequestState.WITHDRAWN, account)


@transaction.atomic
def ask_info(request: AccessRequest, reviewer: Account, reason: str) -> AccessRequest:
    """Ask the researcher something before deciding."""
    return _review(request, RequestState.INFO_ASKED, reviewer, _stated(reason))


@transaction.atomic
def approve(
    request: AccessRequest, reviewer: Account, *, reason: str = "", daily_flops: int | None = None
) -> AccessRequest:
    """Let the researcher open a lab with this quota (none: what was asked for, or the default)."""
    locked = _locked(request)
    quota = daily_flops if daily_flops is not None else locked.daily_flops
    quota = DEFAULT_DAILY_FLOPS if quota is None else quota
    _require_quota(quota)
    return _review(locked, RequestState.APPROVED, reviewer, reason, daily_flops=quota)


@transaction.atomic
def decline(request: AccessRequest, reviewer: Account, reason: str) -> AccessRequest:
    """Refuse a request, with the reason."""
    return _review(request, RequestState.DECLINED, reviewer, _stated(reason))


@transaction.atomic
def revoke(request: AccessRequest, reviewer: Account, reason: str) -> AccessRequest:
    """Take an approval back; its lab is suspended."""
    moved = _review(request, RequestState.REVOKED, reviewer, _stated(reason))
    Lab.objects.filter(request=moved).update(state=LabState.SUSPENDED)
    return moved


@transaction.atomic
def create_lab(account: Account, name: str, daily_flops: int | None = None) -> Lab:
    """Open the lab of an approved request that has none yet; `account` becomes its owner.

    `daily_flops` may be at most what was approved. Raises `NotAllowed` or `BadMessage`.
    """
    _require_active(account)
    if not name.strip() or len(name) > 120:
        raise BadMessage("A lab needs a name of at most 120 characters.")
    request = (
        AccessRequest.objects.select_for_update(of=("self",))
        .filter(account=account, state=RequestState.APPROVED.value, labs__isnull=True)
        .order_by("id")
        .first()
    )
    if request is None or request.labs.exists():
        raise NotAllowed("A lab needs an approved request for access; each opens one lab.")
    quota = approved_flops(request)
    if daily_flops is not None and not 0 <= daily_flops <= quota:
        raise NotAllowed(f"At most {quota} floating point operations a day were approved.")
    lab = Lab.objects.create(
        name=name.strip(),
        owner=account,
        request=request,
        daily_flops=quota if daily_flops is None else daily_flops,
    )
    LabMember.objects.create(lab=lab, account=account, role=LabRole.OWNER)
    return lab


def approved_flops(request: AccessRequest) -> int:
    """The daily quota that the approval of a request set."""
    approval = request.decisions.filter(to_state=RequestState.APPROVED.value).latest("id")
    return DEFAULT_DAILY_FLOPS if approval.daily_flops is None else approval.daily_flops


@transaction.atomic
def add_member(lab: Lab, account: Account, *, by: Account) -> LabMember:
    """Let an account act for a lab. Raises `NotAllowed`, `AccountSuspended` or `Conflict`."""
    _require_lab_owner(lab, by)
    _require_active(account)
    try:
        with transaction.atomic():
            return LabMember.objects.create(lab=lab, account=account, role=LabRole.MEMBER)
    except IntegrityError:
        raise Conflict("The account is a member of the lab already.") from None


@transaction.atomic
def remove_member(lab: Lab, account: Account, *, by: Account) -> None:
    """End a membership; the account's tokens for this lab stop working at once."""
    _require_lab_owner(lab, by)
    member = LabMember.objects.select_for_update().filter(lab=lab, account=account).first()
    if member is None:
        raise NotAllowed("The account is not a member of this lab.")
    if member.role == LabRole.OWNER:
        raise NotAllowed("A lab can't lose its owner.")
    member.delete()


@transaction.atomic
def set_quota(lab: Lab, reviewer: Account, daily_flops: int) -> Lab:
    """Set how much may be leased for a lab in 24 hours."""
    _require_reviewer(reviewer)
    _require_quota(daily_flops)
    locked = Lab.objects.select_for_update().get(pk=lab.pk)
    locked.daily_flops = daily_flops
    locked.save(update_fields=["daily_flops"])
    return locked


@transaction.atomic
def suspend_lab(lab: Lab, reviewer: Account) -> Lab:
    """Nothing of the lab is leased and none of its tokens works, until it is reinstated."""
    return _set_lab_state(lab, reviewer, LabState.SUSPENDED)


@transaction.atomic
def reinstate_lab(lab: Lab, reviewer: Account) -> Lab:
    if lab.request.state != RequestState.APPROVED:
        raise NotAllowed("The approval that this lab rests on was revoked.")
    return _set_lab_state(lab, reviewer, LabState.ACTIVE)


def _set_lab_state(lab: Lab, reviewer: Account, state: LabState) -> Lab:
    _require_reviewer(reviewer)
    locked = Lab.objects.select_for_update().get(pk=lab.pk)
    locked.state = state
    locked.save(update_fields=["state"])
    return locked


def _locked(request: AccessRequest) -> AccessRequest:
    return AccessRequest.objects.select_for_update().get(pk=request.pk)


def _review(
    request: AccessRequest,
    state: RequestState,
    reviewer: Account,
    reason: str,
    *,
    daily_flops: int | None = None,
) -> AccessRequest:
    _require_reviewer(reviewer)
    locked = _locked(request)
    if locked.account_id == reviewer.pk:
        raise NotAllowed("Nobody decides on a request of their own.")
    return _move(locked, state, reviewer, reason=reason, daily_flops=daily_flops)


def _move(
    locked: AccessRequest,
    state: RequestState,
    actor: Account,
    *,
    reason: str = "",
    daily_flops: int | None = None,
) -> AccessRequest:
    before = RequestState(locked.state)
    if state not in REQUEST_MOVES[before]:
        raise Conflict(f"A request that is {_words(before)} can't become {_words(state)}.")
    locked.state = state.value
    locked.changed = timezone.now()
    locked.save(update_fields=["state", "changed", "submitted"])
    Decision.objects.create(
        request=locked,
        actor=actor,
        from_state=before.value,
        to_state=state.value,
        reason=reason,
        daily_flops=daily_flops,
    )
    return locked


def _words(state: RequestState) -> str:
    return state.value.replace("_", " ")


def _stated(reason: str) -> str:
    if not reason.strip():
        raise BadMessage("A reason is needed: the researcher reads it.")
    if len(reason) > 4000:
        raise BadMessage("The reason may have at most 4000 characters.")
    return reason.strip()


def _require_fitting(fields: dict[str, Any]) -> None:
    for name, most in (("title", 200), ("institution", 200), ("purpose", 10_000)):
        if len(fields.get(name) or "") > most:
            raise BadMessage(f"The {name} may have at most {most} characters.")
    if "title" in fields and not fields["title"].strip():
        raise BadMessage("A request needs a title.")
    if fields.get("daily_flops") is not None:
        _require_quota(fields["daily_flops"])


def _require_quota(daily_flops: int) -> None:
    if not 0 <= daily_flops <= MAX_DAILY_FLOPS:
        raise BadMessage(f"A daily quota lies between 0 and {MAX_DAILY_FLOPS}.")


def _require_active(account: Account) -> None:
    if account.state != AccountState.ACTIVE:
        raise AccountSuspended


def _require_owner(request: AccessRequest, account: Account) -> None:
    if request.account_id != account.pk:
        raise NotAllowed("Only the person who made a request may do this.")


def _require_reviewer(account: Account) -> None:
    if not account.is_staff or not account.has_perm(REVIEW_PERMISSION):
        raise NotAllowed("Only a reviewer may do this.")


def _require_lab_owner(lab: Lab, account: Account) -> None:
    if lab.owner_id != account.pk and not account.has_perm(REVIEW_PERMISSION):
        raise NotAllowed("Only the owner of a lab may do this.")
