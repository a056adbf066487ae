"""Every table of the site that holds something about people, and how a person's rows are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import Model, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Account

Finder = Callable[[Account, str], Q]


@dataclass(frozen=True)
class Holding:
    """Rows of `model` that are about a person, for the file `file` of an export."""

    file: str
    model: str
    says: Any
    """What the file holds, a lazy translation."""
    find: Finder
    hidden: frozenset[str] = frozenset()
    """Columns that are left out: hashes and keys, which say nothing and may open something."""
    is_large: bool = False
    """Written as CSV, without a column for the person."""

    @property
    def table(self) -> type[Model]:
        return apps.get_model(self.model)

    def columns(self) -> list[str]:
        names = [field.attname for field in self.table._meta.concrete_fields]
        return [name for name in names if name not in self.hidden]


def of_account(path: str) -> Finder:
    """Rows that lead to the account by `path`."""
    return lambda account, _address: Q(**{path: account.pk})


def of_address(path: str) -> Finder:
    return lambda _account, address: Q(**{path: address})


def _of_leases(account: Account, _address: str) -> Q:
    leases = apps.get_model("workunits.Lease")._default_manager.filter(account=account.pk)
    return Q(lease_id__in=leases.values("pk"))


def _either(*finders: Finder) -> Finder:
    def find(account: Account, address: str) -> Q:
        found = Q()
        for finder in finders:
            found |= finder(account, address)
        return found

    return find


HOLDINGS = (
    Holding(
        "account.json",
        "accounts.Account",
        _("Your account: its random key, its state and its rights."),
        of_account("pk"),
        hidden=frozenset({"session_epoch"}),
    ),
    Holding(
        "person.json",
        "accounts.Person",
        _("What tells who you are: address, names, language, time zone, accepted terms."),
        of_account("account"),
    ),
    Holding(
        "sessions.json",
        "accounts.Session",
        _("Browsers that are logged in."),
        of_account("account"),
        hidden=frozenset({"session_key", "session_data"}),
    ),
    Holding(
        "log_ins.json",
        "accounts.LoginAttempt",
        _("Log-ins that were tried with your address in the last day."),
        of_address("email"),
        hidden=frozenset({"browser_hash"}),
    ),
    Holding(
        "log_in_codes.json",
        "accounts.LoginCode",
        _("Log-in codes of the last day; the codes themselves are not kept."),
        _either(of_account("account"), of_address("attempt__email")),
        hidden=frozenset({"code_hash"}),
    ),
    Holding(
        "second_factors.json",
        "mfa.Authenticator",
        _("Your second factors, without their secrets."),
        of_account("user"),
        hidden=frozenset({"data"}),
    ),
    Holding(
        "tokens.json",
        "accounts.ApiToken",
        _("Tokens of your programs; the tokens themselves are not kept."),
        of_account("account"),
        hidden=frozenset({"secret_hash"}),
    ),
    Holding(
        "sign_ins.json",
        "accounts.SignIn",
        _("Programs that you let in, or did not, in the last days."),
        of_account("account"),
        hidden=frozenset({"device_hash", "user_code_hash"}),
    ),
    Holding(
        "mails.json",
        "gpugoblin_site.OutboxMail",
        _("Mails to you and what became of them; their texts are wiped once they were sent."),
        _either(of_account("account"), of_address("address")),
        hidden=frozenset({"claim"}),
    ),
    Holding(
        "requests.json",
        "research_access.AccessRequest",
        _("Your requests for access."),
        of_account("account"),
        hidden=frozenset({"search", "institution_search"}),
    ),
    Holding(
        "decisions.json",
        "research_access.Decision",
        _("What was decided about your requests, and what you decided as a reviewer."),
        _either(of_account("request__account"), of_account("actor")),
    ),
    Holding(
        "messages.json",
        "research_access.Message",
        _("Messages between you and the reviewers."),
        _either(of_account("request__account"), of_account("author")),
    ),
    Holding(
        "proposals.json",
        "research_access.Proposal",
        _("Your proposals for the catalogue."),
        of_account("account"),
    ),
    Holding(
        "proposal_moves.json",
        "research_access.ProposalMove",
        _("What was answered to them, and what you answered as a reviewer."),
        _either(of_account("proposal__account"), of_account("actor")),
    ),
    Holding(
        "viewings.json",
        "research_access.Viewing",
        _("Requests that you had open as a reviewer."),
        of_account("reviewer"),
    ),
    Holding(
        "labs.json",
        "research_access.Lab",
        _("Labs that you belong to."),
        of_account("members__account"),
    ),
    Holding(
        "memberships.json",
        "research_access.LabMember",
        _("Your part in them."),
        of_account("account"),
    ),
    Holding(
        "invitations.json",
        "research_access.Invitation",
        _("Invitations into labs, to you and from you, that were not accepted yet."),
        _either(of_account("invited_by"), of_address("email")),
        hidden=frozenset({"token_hash"}),
    ),
    Holding(
        "lab_nodes.json",
        "workunits.LabNode",
        _("Where the nodes of labs are reached that you own."),
        of_account("lab__owner"),
    ),
    Holding(
        "machines.json",
        "workunits.Host",
        _("Your machines."),
        of_account("account"),
        hidden=frozenset({"nonce", "answered"}),
    ),
    Holding(
        "devices.json",
        "workunits.Device",
        _("Their processors and graphics cards."),
        of_account("host__account"),
    ),
    Holding(
        "standing.json",
        "workunits.Standing",
        _("The sums of what your machines computed."),
        of_account("account"),
    ),
    Holding(
        "credit_days.csv",
        "workunits.CreditDay",
        _("What was verified, day by day."),
        of_account("account"),
        hidden=frozenset({"account_id"}),
        is_large=True,
    ),
    Holding(
        "credit.csv",
        "workunits.CreditEntry",
        _("What was verified, result by result."),
        of_account("account"),
        hidden=frozenset({"account_id"}),
        is_large=True,
    ),
    Holding(
        "leases.csv",
        "workunits.Lease",
        _("Every piece of work that your machines took."),
        of_account("account"),
        hidden=frozenset({"account_id"}),
        is_large=True,
    ),
    Holding(
        "work_in_hand.json",
        "workunits.PendingLease",
        _("The pieces that they work on now."),
        of_account("account"),
    ),
    Holding(
        "verdicts.csv",
        "workunits.Verdict",
        _("What labs found about it."),
        _of_leases,
        is_large=True,
    ),
    Holding(
        "switched_off.json",
        "workunits.Switch",
        _("Why your account is switched off, if it is."),
        lambda account, _address: Q(kind="account", target=account.pk),
        hidden=frozenset({"by_id", "reason"}),
    ),
    Holding(
        "switches.json",
        "workunits.Switch",
        _("Switches that you set as an operator and that are on."),
        of_account("by"),
    ),
    Holding(
        "switch_moves.json",
        "workunits.SwitchMove",
        _("What you switched as an operator, on and off."),
        of_account("by"),
    ),
    Holding(
        "incidents.json",
        "workunits.IncidentVersion",
        _("What you wrote as an operator about incidents."),
        of_account("by"),
    ),
    Holding(
        "administration.json",
        "admin.LogEntry",
        _("What you did in the administration."),
        of_account("user"),
    ),
)

NOT_EXPORTED = {
    "account.EmailAddress": "django-allauth's table of addresses; nothing is written to it here",
    "account.EmailConfirmation": "the same; the site sends none of allauth's mails",
    "accounts.RateLimit": "keyed hashes; nobody can be found in it",
}
"""Tables that could hold something about people by their form, and why none of it is exported."""
