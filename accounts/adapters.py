"""How django-allauth is used here: its log-in stages and its second factor, not its pages."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.contrib.auth import login
from django.http import HttpRequest

from accounts.limits import client_address
from accounts.models import Account
from gpugoblin_site import keys

BACKEND = "accounts.backends.SessionBackend"
_NONCE_BYTES = 12


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """The address is proved by a code before; what is left is the second factor."""

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"]

    def login(self, request: HttpRequest, user: Account) -> None:
        login(request, user, backend=BACKEND)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def add_message(self, *_args: Any, **_facts: Any) -> None:
        """Our own pages say what happened."""

    def send_notification_mail(self, *_args: Any, **_facts: Any) -> None:
        """Our own services queue mail."""


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets of second factors are encrypted with a key that is not in the database."""

    def get_totp_issuer(self) -> str:
        return "GPU Goblin"

    def get_totp_label(self, user: Account) -> str:
        return user.person.email

    def encrypt(self, text: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(keys.factor_secret()).encrypt(nonce, text.encode(), None)
        return base64.b64encode(nonce + sealed).decode()

    def decrypt(self, encrypted_text: str) -> str:
        raw = base64.b64decode(encrypted_text)
        return (
            AESGCM(keys.factor_secret())
            .decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], None)
            .decode()
        )
