"""The plain admin moves requests and labs through the services only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts import services as accounts
from accounts.models import Account, ApiToken
from goblin_wire.tokens import Scope
from research_access import services
from research_access.models import AccessRequest, Lab

pytestmark = pytest.mark.django_db

REQUESTS = "/admin/research_access/accessrequest/"
LABS = "/admin/research_access/lab/"


@pytest.fixture
def operator(reviewer: Account) -> Client:
    client = Client()
    client.force_login(reviewer)
    return client


def act(client: Client, where: str, action: str, row: int, **more: str) -> str:
    body = {"action": action, "_selected_action": str(row), **more}
    return client.post(where, body, follow=True).content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "accounts/account/",
        "accounts/apitoken/",
        "research_access/accessrequest/",
        "research_access/lab/",
    ],
)
def test_pages_open(operator: Client, approved: AccessRequest, path: str) -> None:
    services.create_lab(approved.account, "Lab")
    assert operator.get(f"/admin/{path}").status_code == 200


def test_decision_page(operator: Client, draft: AccessRequest, reviewer: Account) -> None:
    services.submit_request(draft, draft.account)
    page = operator.get(f"{REQUESTS}{draft.pk}/change/").content.decode()
    assert "Folding." in page
    assert "submitted" in page
    asked = act(operator, REQUESTS, "decline", draft.pk)
    assert "<textarea" in asked
    assert AccessRequest.objects.get().state == "submitted"
    assert "reason is needed" in act(operator, REQUESTS, "decline", draft.pk, reason=" ")
    act(operator, REQUESTS, "decline", draft.pk, reason="Not research.")
    decision = draft.decisions.latest("id")
    assert (decision.to_state, decision.actor, decision.reason) == (
        "declined",
        reviewer,
        "Not research.",
    )
    assert "become approved" in act(operator, REQUESTS, "approve", draft.pk, reason="x")


def test_approval_and_revocation(operator: Client, draft: AccessRequest) -> None:
    services.submit_request(draft, draft.account)
    act(operator, REQUESTS, "ask_info", draft.pk, reason="Which data?")
    services.submit_request(draft, draft.account)
    act(operator, REQUESTS, "approve", draft.pk, reason="")
    services.create_lab(draft.account, "Lab")
    act(operator, REQUESTS, "revoke", draft.pk, reason="misuse")
    assert Lab.objects.get().state == "suspended"


def test_nothing_is_edited_by_hand(operator: Client, approved: AccessRequest) -> None:
    operator.post(f"{REQUESTS}{approved.pk}/change/", {"state": "declined", "title": "other"})
    approved.refresh_from_db()
    assert (approved.state, approved.title) == ("approved", "Proteins")
    assert operator.get(f"{REQUESTS}add/").status_code == 403
    assert operator.get(f"{REQUESTS}{approved.pk}/delete/").status_code == 403


def test_lab(operator: Client, approved: AccessRequest) -> None:
    lab = services.create_lab(approved.account, "Lab")
    formset = {"members-TOTAL_FORMS": "0", "members-INITIAL_FORMS": "0"}
    operator.post(f"{LABS}{lab.pk}/change/", {"daily_flops": "42", "name": "x", **formset})
    lab.refresh_from_db()
    assert (lab.daily_flops, lab.name) == (42, "Lab")
    act(operator, LABS, "suspend", lab.pk)
    assert Lab.objects.get().state == "suspended"
    act(operator, LABS, "reinstate", lab.pk)
    assert Lab.objects.get().state == "active"


def test_accounts(operator: Client, researcher: Account, reviewer: Account) -> None:
    accounts.issue_token(researcher, Scope.VOLUNTEER, label="desk")
    token = ApiToken.objects.get()
    act(operator, "/admin/accounts/apitoken/", "revoke", token.pk)
    token.refresh_from_db()
    assert token.revoked is not None
    page = operator.get(f"/admin/accounts/apitoken/{token.pk}/change/").content.decode()
    assert token.secret_hash not in page
    act(operator, "/admin/accounts/account/", "suspend", researcher.pk)
    act(operator, "/admin/accounts/account/", "suspend", reviewer.pk)
    assert Account.objects.get(pk=researcher.pk).state == "suspended"
    assert Account.objects.get(pk=reviewer.pk).state == "active", "nobody locks themselves out"
    act(operator, "/admin/accounts/account/", "reinstate", researcher.pk)
    assert Account.objects.get(pk=researcher.pk).state == "active"


def staff_with(*permissions: str) -> Client:
    account = accounts.create_account("staff@example.org")
    account.is_staff = True
    account.save()
    account.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(account)
    return client


def test_who_may_look_may_not_act(approved: AccessRequest, researcher: Account) -> None:
    client = staff_with("view_account", "view_accessrequest")
    assert client.get(REQUESTS).status_code == 200
    act(client, "/admin/accounts/account/", "suspend", researcher.pk)
    act(client, REQUESTS, "revoke", approved.pk, reason="x")
    assert Account.objects.get(pk=researcher.pk).state == "active"
    assert AccessRequest.objects.get().state == "approved"


def test_staff_give_themselves_no_rights(researcher: Account) -> None:
    client = staff_with("view_account", "change_account", "change_person", "view_person")
    mine = Account.objects.get(person__email="staff@example.org")
    person = {"person-TOTAL_FORMS": "0", "person-INITIAL_FORMS": "0"}
    client.post(f"/admin/accounts/account/{mine.pk}/change/", {"is_superuser": "on", **person})
    mine.refresh_from_db()
    assert not mine.is_superuser


def test_others_are_kept_out(researcher: Account) -> None:
    client = Client()
    client.force_login(researcher)
    away = client.get(REQUESTS)
    assert away.status_code == 302
    assert "/admin/login/" in away["Location"]
