"""The second factor: codes of an app on a telephone, and codes on paper for when it is lost.

allauth keeps and checks them; here is when they are asked for.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import qrcode
from allauth.account.internal.flows.login import (
    get_authentication_records,
    record_authentication,
)
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.db import transaction
from django.http import HttpRequest
from qrcode.image.svg import SvgPathFillImage

from accounts.models import Account

FRESH = timedelta(minutes=15)
"""So long after a log-in the second factor can be changed without another."""
METHOD = "mfa"


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """What an account has set up."""

    since: datetime
    last_used: datetime | None
    recovery_codes_left: int


def of_account(account: Account) -> SecondFactor | None:
    """The second factor of an account, if it has one."""
    found = {row.type: row for row in Authenticator.objects.filter(user=account)}
    totp = found.get(Authenticator.Type.TOTP)
    if totp is None:
        return None
    codes = found.get(Authenticator.Type.RECOVERY_CODES)
    used = [row.last_used_at for row in found.values() if row.last_used_at is not None]
    left = len(codes.wrap().get_unused_codes()) if codes is not None else 0
    return SecondFactor(totp.created_at, max(used, default=None), left)


def is_set_up(account: Account) -> bool:
    return bool(Authenticator.objects.filter(user=account, type=Authenticator.Type.TOTP).exists())


def is_passed(request: HttpRequest) -> bool:
    """Whether this session showed a second factor."""
    return any(record["method"] == METHOD for record in _records(request))


def is_fresh(request: HttpRequest) -> bool:
    """Whether the person of this session proved who it is a moment ago."""
    since = time.time() - FRESH.total_seconds()
    return any(record["at"] > since for record in _records(request))


def pass_with(request: HttpRequest, account: Account) -> None:
    """Note in the session that the account's second factor was shown."""
    record_authentication(request, account, METHOD)


@transaction.atomic
def set_up(account: Account, secret: str) -> list[str]:
    """Ask for codes of this secret from now on; the recovery codes, to be written down."""
    remove(account)
    TOTP.activate(account, secret)
    return _recovery_codes(account)


@transaction.atomic
def new_recovery_codes(account: Account) -> list[str]:
    """Other recovery codes; the earlier ones open nothing any more."""
    Account.objects.select_for_update().get(pk=account.pk)
    Authenticator.objects.filter(user=account, type=Authenticator.Type.RECOVERY_CODES).delete()
    return _recovery_codes(account)


def remove(account: Account) -> None:
    """Ask for no second factor until another is set up."""
    Authenticator.objects.filter(user=account).delete()


def readable_secret(secret: str) -> str:
    """The secret in groups, for typing it into an app."""
    return " ".join(secret[i : i + 4] for i in range(0, len(secret), 4))


def picture(account: Account, secret: str) -> str:
    """The secret as a QR code that apps read: the address of an SVG image."""
    buffer = BytesIO()
    address = get_adapter().build_totp_url(account, secret)
    qrcode.make(address, image_factory=SvgPathFillImage, border=4).save(buffer)
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _recovery_codes(account: Account) -> list[str]:
    """Those that were not used, made if there are none."""
    codes: list[str] = RecoveryCodes.activate(account).get_unused_codes()
    return codes


def _records(request: HttpRequest) -> list[dict[str, Any]]:
    account = request.user if isinstance(request.user, Account) else None
    found: list[dict[str, Any]] = get_authentication_records(request, account)
    return found
