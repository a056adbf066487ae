"""Labs in the admin: reviewers set quotas and suspend, operators read."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts import roles
from accounts import services as accounts
from accounts.models import Account
from research_access import services
from research_access.models import AccessRequest, Lab
from research_access.tests.reviewing import reviewer_called
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db

LABS = "/admin/research_access/lab/"


@pytest.fixture
def lab(approved: AccessRequest) -> Lab:
    return services.create_lab(approved.account, "Quantum lab")


@pytest.fixture
def desk(reviewer: Account) -> Client:
    return client_of(reviewer_called("lan@example.org", reviewer))


@pytest.fixture
def operator(reviewer: Account) -> Client:
    account = accounts.create_account("operator@example.org")
    roles.set_roles(account, [roles.Role.OPERATOR], reviewer)
    return client_of(Account.objects.get(pk=account.pk))


def act(client: Client, action: str, lab: Lab) -> str:
    body = {"action": action, "_selected_action": str(lab.pk)}
    page = client.post(LABS, body, follow=True).content.decode()
    lab.refresh_from_db()
    return page


def set_quota(client: Client, lab: Lab, quota: str) -> int:
    body = {"daily_flops": quota, "name": "x", "state": "suspended"}
    status = client.post(f"{LABS}{lab.pk}/change/", body).status_code
    lab.refresh_from_db()
    return status


def test_the_quota_and_nothing_else(desk: Client, lab: Lab) -> None:
    assert set_quota(desk, lab, "42") == 302
    assert (lab.daily_flops, lab.name, lab.state) == (42, "Quantum lab", "active")
    for wrong in ("-1", "x", "", str(2**63)):
        assert set_quota(desk, lab, wrong) == 200
        assert lab.daily_flops == 42


def test_suspended_and_reinstated(desk: Client, lab: Lab, reviewer: Account) -> None:
    act(desk, "suspend", lab)
    assert lab.state == "suspended"
    act(desk, "reinstate", lab)
    assert lab.state == "active"
    services.revoke(lab.request, reviewer, "Misuse.")
    assert "was revoked" in act(desk, "reinstate", lab)
    assert lab.state == "suspended"


def test_operators_read_only(operator: Client, lab: Lab) -> None:
    assert "Quantum lab" in operator.get(LABS).content.decode()
    page = operator.get(f"{LABS}{lab.pk}/change/").content.decode()
    assert '<bdi translate="no">Nguyễn Thị Ánh</bdi>, owner' in page
    act(operator, "suspend", lab)
    set_quota(operator, lab, "42")
    assert (lab.state, lab.daily_flops) == ("active", services.DEFAULT_DAILY_FLOPS)


def test_requests_are_none_of_the_operators_business(
    operator: Client, lab: Lab, approved: AccessRequest
) -> None:
    queue = "/admin/research_access/accessrequest/"
    for path in (queue, f"{queue}{approved.pk}/change/", "/admin/research_access/savedreply/"):
        assert operator.get(path).status_code == 403
    for body in ({"move": "revoke", "revoke-reason": "x"}, {"undo": "1"}):
        assert operator.post(f"{queue}{approved.pk}/change/", body).status_code == 403
    assert operator.post(f"{queue}{approved.pk}/beat/").status_code == 403
    body = {"action": "revoke_all", "_selected_action": str(approved.pk)}
    assert operator.post(queue, body).status_code == 403
    approved.refresh_from_db()
    assert approved.state == "approved"
    assert "Review queue" not in operator.get("/admin/").content.decode()


def test_who_reads_only_decides_on_none(submitted: AccessRequest) -> None:
    account = accounts.create_account("reader@example.org")
    account.is_staff = True
    account.save()
    account.user_permissions.add(Permission.objects.get(codename="view_accessrequest"))
    reader = client_of(Account.objects.get(pk=account.pk))
    path = f"/admin/research_access/accessrequest/{submitted.pk}/change/"
    assert "decides on none" in reader.get(path).content.decode()
    assert reader.post(path, {"move": "decline", "decline-reason": "x"}).status_code == 403
    body = {"action": "decline_all", "_selected_action": str(submitted.pk)}
    reader.post("/admin/research_access/accessrequest/", body)
    submitted.refresh_from_db()
    assert submitted.state == "submitted"
