"""Deletion of an account: what names its person goes, what others rely on stays with its key.

Credit, verdicts and decisions stay, because the sums of others and the record of what was decided
rest on them; they point at a random key that leads to nobody any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from accounts.models import (
    Account,
    AccountState,
    ApiToken,
    LoginAttempt,
    LoginCode,
    Person,
    Session,
    SignIn,
)
from accounts.models.account import new_session_epoch
from accounts.signals import erasing
from goblin_wire.problems import NotAllowed
from gpugoblin_site.mail.models import OutboxMail
from research_access.erasing import labs_that_end
from research_access.models import OPEN_STATES, AccessRequest, Lab, LabMember, LabState

ERASED = "erased"


@dataclass(frozen=True)
class Consequences:
    """What a person should know before."""

    closing: list[str]
    """Names of labs that nobody else owns: they are closed."""
    labs_left: int
    """Labs that go on without this account."""
    tokens: int
    open_request: bool


def consequences(account: Account) -> Consequences:
    """What the deletion of an account would end."""
    closing = labs_that_end(account)
    memberships = LabMember.objects.filter(account=account, lab__state=LabState.ACTIVE)
    return Consequences(
        closing=closing,
        labs_left=memberships.count() - len(closing),
        tokens=ApiToken.objects.filter(account=account, revoked__isnull=True).count(),
        open_request=AccessRequest.objects.filter(account=account, state__in=OPEN_STATES).exists(),
    )


@transaction.atomic
def erase(account: Account) -> None:
    """Delete the account; once that has been done, again changes nothing.

    Raises `NotAllowed` for the last operator who may do everything.
    """
    # Without a key lock: an exchange of its machines that is under way refers to the row.
    locked = Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    person = Person.objects.filter(account=locked).first()
    if person is None:
        return
    _require_another_operator(locked)
    named = _named(locked, person)
    erasing.send(sender=Account, account=locked)
    _forget_log_ins(locked, person.email)
    _forget_mail(locked, person.email)
    _forget_in_log(person.email, named)
    person.delete()
    _shut(locked)


def _require_another_operator(account: Account) -> None:
    others = Account.objects.select_for_update(no_key=True).filter(
        is_superuser=True, state=AccountState.ACTIVE
    )
    if account.is_superuser and not others.exclude(pk=account.pk).exists():
        raise NotAllowed(_("You are the only superuser: make somebody else one before you go."))


def _forget_log_ins(account: Account, address: str) -> None:
    """Sessions, codes, second factors and tokens: nothing opens the account any more."""
    Session.objects.filter(account=account).delete()
    LoginAttempt.objects.filter(email=address).delete()
    LoginCode.objects.filter(account=account).delete()
    SignIn.objects.filter(account=account).delete()
    ApiToken.objects.filter(account=account).delete()
    Authenticator.objects.filter(user=account).delete()
    EmailAddress.objects.filter(Q(user=account) | Q(email__iexact=address)).delete()


def _forget_mail(account: Account, address: str) -> None:
    """Also what waits: a mail under way finds its claim gone and is not sent."""
    OutboxMail.objects.filter(Q(account=account) | Q(address=address)).delete()
    OutboxMail.objects.filter(detail__icontains=address).update(detail="")


def _named(account: Account, person: Person) -> list[tuple[type[Model], list[int]]]:
    """Rows that the admin's log may have called by the person's name or address."""
    requests = AccessRequest.objects.filter(account=account)
    labs = Lab.objects.filter(owner=account)
    return [
        (Account, [account.pk]),
        (Person, [person.pk]),
        (AccessRequest, list(requests.values_list("pk", flat=True))),
        (Lab, list(labs.values_list("pk", flat=True))),
    ]


def _forget_in_log(address: str, named: list[tuple[type[Model], list[int]]]) -> None:
    about = Q(object_repr__icontains=address) | Q(change_message__icontains=address)
    for model, rows in named:
        kind = ContentType.objects.get_for_model(model)
        about |= Q(content_type=kind, object_id__in=[str(row) for row in rows])
    LogEntry.objects.filter(about).update(object_repr=ERASED, change_message="")


def _shut(account: Account) -> None:
    account.state = AccountState.ERASED
    account.is_staff = account.is_superuser = False
    account.last_login = None
    account.session_epoch = new_session_epoch()
    account.groups.clear()
    account.user_permissions.clear()
    account.save(update_fields=["state", "is_staff", "is_superuser", "last_login", "session_epoch"])
