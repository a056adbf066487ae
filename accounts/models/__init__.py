"""Who uses the site, and with which token."""

from accounts.models.account import Account, AccountManager, AccountState, Person
from accounts.models.limits import RateLimit
from accounts.models.login import LoginAttempt, LoginCode
from accounts.models.session import Session
from accounts.models.sign_in import SignIn
from accounts.models.token import ApiToken

__all__ = [
    "Account",
    "AccountManager",
    "AccountState",
    "ApiToken",
    "LoginAttempt",
    "LoginCode",
    "Person",
    "RateLimit",
    "Session",
    "SignIn",
]
