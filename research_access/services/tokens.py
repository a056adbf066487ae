"""Tokens of a lab that a member makes on the page instead of by the sign-in of a program."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account, ApiToken
from accounts.services import issue_token, revoke_token
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, NotAllowed
from goblin_wire.tokens import Scope
from research_access.models import Lab, LabState

MAX_LABEL = 120
MAX_TOKENS = 50
TWICE = timedelta(minutes=1)
"""A form that comes again within this was sent twice: nobody has seen the first answer."""


def own_tokens(lab: Lab, account: Account) -> QuerySet[ApiToken]:
    """The tokens of an account for a lab that work, the newest first."""
    return ApiToken.objects.filter(
        lab=lab, account=account, revoked__isnull=True, expires__gt=timezone.now()
    ).order_by("-id")


@transaction.atomic
def create_token(lab: Lab, account: Account, label: str) -> str:
    """A new token for a program of a lab, to be shown once.

    The same form sent twice leaves one token that works. Raises `NotAllowed`, `BadMessage`,
    `AccountSuspended`.
    """
    called = clean_name(label, len(label))
    if not called or len(called) > MAX_LABEL:
        raise BadMessage(_("Say what the token is for."))
    if Lab.objects.select_for_update(of=("self",)).get(pk=lab.pk).state != LabState.ACTIVE:
        raise NotAllowed(_("The lab is suspended."))
    tokens = own_tokens(lab, account)
    tokens.filter(label=called, last_used__isnull=True, created__gt=timezone.now() - TWICE).update(
        revoked=timezone.now()
    )
    if tokens.count() >= MAX_TOKENS:
        raise NotAllowed(_("You have very many tokens for this lab; revoke some first."))
    return issue_token(account, Scope.LAB, lab=lab, label=called)


def revoke_own_token(lab: Lab, account: Account, number: int) -> None:
    """End one of one's own tokens. Raises `NotAllowed` for another's."""
    token = ApiToken.objects.filter(pk=number, lab=lab, account=account).first()
    if token is None:
        raise NotAllowed(_("This is no token of yours."))
    revoke_token(token)
