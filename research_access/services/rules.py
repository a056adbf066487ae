"""What the services of this app require of those who call them."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from accounts.addresses import shown
from accounts.models import Account, AccountState, Person
from accounts.text import fold
from goblin_wire.problems import AccountSuspended, BadMessage, NotAllowed
from research_access.models import AccessRequest, Lab, LabMember, LabRole
from research_access.text import clean_text

DEFAULT_DAILY_FLOPS = 10**18
MAX_DAILY_FLOPS = 2**63 - 1
MAX_TEXT = 4000
REVIEW_PERMISSION = "research_access.review_accessrequest"


def locked(request: AccessRequest) -> AccessRequest:
    """The row as it is now, held until the transaction ends."""
    return (
        AccessRequest.objects.select_for_update(of=("self",))
        .select_related("account")
        .get(pk=request.pk)
    )


def require_active(account: Account) -> None:
    if account.state != AccountState.ACTIVE:
        raise AccountSuspended


def require_applicant(request: AccessRequest, account: Account) -> None:
    if request.account_id != account.pk:
        raise NotAllowed(_("Only the person who made a request may do this."))


def is_reviewer(account: Account) -> bool:
    return account.is_staff and account.has_perm(REVIEW_PERMISSION)


def require_reviewer(account: Account) -> None:
    if not is_reviewer(account):
        raise NotAllowed(_("Only a reviewer may do this."))


def require_lab_owner(lab: Lab, account: Account) -> None:
    """Raises `NotAllowed` for everybody but the owners of the lab and reviewers."""
    owns = LabMember.objects.filter(lab=lab, account=account, role=LabRole.OWNER).exists()
    if not owns and not is_reviewer(account):
        raise NotAllowed(_("Only the owner of a lab may do this."))


def require_quota(daily_flops: int) -> None:
    if not 0 <= daily_flops <= MAX_DAILY_FLOPS:
        raise BadMessage(
            _("A daily quota lies between 0 and {most} operations.").format(most=MAX_DAILY_FLOPS)
        )


def stated(text: str) -> str:
    """A text that somebody will read, cleaned. Raises `BadMessage` for an empty or too long one."""
    cleaned = clean_text(text)
    if not cleaned:
        raise BadMessage(_("A text is needed: the other side reads it."))
    return bounded(cleaned)


def bounded(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise BadMessage(_("The text may have at most {most} characters.").format(most=MAX_TEXT))
    return text


def require_impersonal(text: str, request: AccessRequest, *accounts: Account) -> None:
    """Decisions are kept for ever, so none may hold a name or an address that must be erasable.

    Raises `BadMessage` if the text holds the full name or the address of one of the people.
    """
    require_unnamed(text, [request.account_id, *(a.pk for a in accounts)], request.name)


def require_unnamed(text: str, accounts: Iterable[int], *names: str) -> None:
    """The same for the people behind these numbers, and for other names that they gave."""
    told = fold(text)
    if any(known and fold(known) in told for known in _names(accounts, names)):
        raise BadMessage(
            _(
                "A reason is kept even when the account is deleted, so it may hold no name and no"
                " e-mail address of the two of you. Write what is personal as a message."
            )
        )


def _names(accounts: Iterable[int], others: Iterable[str]) -> list[str]:
    people = Person.objects.filter(account__in=list(accounts))
    names = [*others]
    for email, name in people.values_list("email", "name"):
        names += [email, shown(email), name]
    # A name of one word is too short to be told from other words.
    return [name for name in names if " " in name.strip() or "@" in name]
