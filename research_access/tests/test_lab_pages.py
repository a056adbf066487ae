"""The pages of labs: opening one, its people, its tokens; and what revoking means for programs."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts import services as accounts
from accounts.models import Account, ApiToken
from goblin_wire.tokens import Scope
from gpugoblin_site.mail.models import OutboxMail
from research_access import services
from research_access.models import AccessRequest, Invitation, Lab, LabMember, LabRole
from research_access.tests.test_pages import HOSTILE, logged_in
from workunits.models import LabDay

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(researcher: Account) -> Client:
    return logged_in(researcher)


@pytest.fixture
def lab(approved: AccessRequest) -> Lab:
    return services.create_lab(approved.account, "Lab", 10**17)


@pytest.fixture
def member(lab: Lab) -> Account:
    account = accounts.create_account("member@example.org", name="Đặng Văn Bình")
    services.add_member(lab, account, by=lab.owner)
    return account


def address(lab: Lab, what: str = "") -> str:
    return f"/labs/{lab.key}/{what}"


def ask_the_api(token: str) -> tuple[int, str]:
    """One poll of a lab node: (status, code of the problem)."""
    answer = Client(raise_request_exception=False).post(
        "/api/v1/lab/events",
        json.dumps({"protocol": 1}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    return answer.status_code, answer.json().get("code", "")


def is_let_in(token: str) -> bool:
    return ask_the_api(token)[1] not in ("not_allowed", "token_expired", "token_invalid")


def test_nothing_yet(client: Client, draft: AccessRequest) -> None:
    page = client.get("/labs/").content.decode()
    assert "You belong to no lab" in page
    assert "Open a lab" not in page
    assert client.post("/labs/", {"name": "Lab"}).status_code == 403


def test_opening_labs(client: Client, approved: AccessRequest) -> None:
    for _ in range(2):
        answer = client.post("/labs/", {"name": HOSTILE, "daily_pflop": "100"})
        assert answer.status_code == 302
    lab = Lab.objects.get()
    assert (lab.daily_flops, lab.request) == (10**17, approved)
    page = client.get("/labs/").content.decode()
    assert "<img src=x" not in page
    assert "900" in page, "PFLOP are left"
    too_much = client.post("/labs/", {"name": "Second", "daily_pflop": "901"})
    assert too_much.status_code == 403
    assert 'value="Second"' in too_much.content.decode()
    client.post("/labs/", {"name": "Second", "daily_pflop": ""})
    assert "share out all" in client.get("/labs/").content.decode()
    client.post(address(lab, "share/"), {"daily_pflop": "50"})
    lab.refresh_from_db()
    assert lab.daily_flops == 5 * 10**16


def test_quota_of_today(client: Client, lab: Lab) -> None:
    LabDay.objects.create(lab=lab, day=timezone.now().date(), flops=5e16, units=3)
    page = client.get(address(lab)).content.decode()
    assert re.search(r"50.0\s*PFLOP / 100\s*PFLOP", page)
    assert 'value="50"' in page


def made(client: Client, lab: Lab, label: str) -> str:
    page = client.post(address(lab, "tokens/"), {"label": label}).content.decode()
    found = re.search(r'"line">(gb\S{30,})</span>', page)
    assert found is not None
    return found[1]


def test_tokens(client: Client, lab: Lab) -> None:
    token = made(client, lab, "node")
    assert is_let_in(token)
    page = client.get(address(lab)).content.decode()
    assert token not in page
    assert "node" in page
    client.post(address(lab, f"tokens/{ApiToken.objects.get().pk}/"))
    assert not is_let_in(token)
    assert client.post(address(lab, "tokens/"), {"label": "\u202e"}).status_code == 400


def test_a_token_form_sent_twice_leaves_one_token(client: Client, lab: Lab) -> None:
    first, second = made(client, lab, "node"), made(client, lab, "node ")
    assert not is_let_in(first)
    assert is_let_in(second)
    made(client, lab, "node")
    assert is_let_in(second), "it is in use"


def test_tokens_of_others_stay(client: Client, lab: Lab, member: Account) -> None:
    accounts.issue_token(member, Scope.LAB, lab=lab, label="theirs")
    token = ApiToken.objects.get()
    client.post(address(lab, f"tokens/{token.pk}/"))
    token.refresh_from_db()
    assert token.revoked is None
    assert "theirs" not in client.get(address(lab)).content.decode()


def test_members_see_and_do_less(lab: Lab, member: Account) -> None:
    client = logged_in(member)
    page = client.get(address(lab)).content.decode()
    assert "Nguyễn Thị Ánh" in page
    assert "researcher@example.org" not in page
    assert "Invite somebody" not in page
    owner = lab.members.get(role=LabRole.OWNER)
    client.post(address(lab, f"members/{owner.pk}/"), {"action": "remove"})
    client.post(address(lab, "share/"), {"daily_pflop": "1"})
    client.post(address(lab, "invite/"), {"email": "x@example.org"})
    assert lab.members.count() == 2
    assert not Invitation.objects.exists()
    lab.refresh_from_db()
    assert lab.daily_flops == 10**17


def test_roles_and_removal(client: Client, lab: Lab, member: Account) -> None:
    token = accounts.issue_token(member, Scope.LAB, lab=lab)
    row = LabMember.objects.get(account=member)
    client.post(address(lab, f"members/{row.pk}/"), {"action": "owner"})
    row.refresh_from_db()
    assert row.role == LabRole.OWNER
    assert is_let_in(token)
    client.post(address(lab, f"members/{row.pk}/"), {"action": "remove"})
    client.post(address(lab, f"members/{row.pk}/"), {"action": "remove"})
    assert lab.members.count() == 1
    assert not is_let_in(token)
    for odd in ("members/1/", "members/99999999999999999999999/", "tokens/0/"):
        assert client.post(address(lab, odd), {"action": "remove"}).status_code == 302


def test_an_address_of_a_deed_leads_back(client: Client, lab: Lab) -> None:
    """As after a switch of language on the page that shows a form's errors."""
    for what in ("share/", "invite/", "members/1/", "leave/", "tokens/", "tokens/1/"):
        assert client.get(address(lab, what))["Location"] == address(lab)


def test_leaving(lab: Lab, member: Account, client: Client) -> None:
    token = accounts.issue_token(member, Scope.LAB, lab=lab)
    assert logged_in(member).post(address(lab, "leave/"))["Location"] == "/labs/"
    assert not is_let_in(token)
    page = client.post(address(lab, "leave/"), follow=True).content.decode()
    assert "only owner" in page


def test_invitation_by_clicking(client: Client, lab: Lab) -> None:
    page = client.post(address(lab, "invite/"), {"email": "guest@example.org"}, follow=True)
    assert "guest@example.org" in page.content.decode()
    link = re.search(r"http\S+?(/invitations/\S+)", OutboxMail.objects.latest("id").body)
    assert link is not None
    away = Client().get(link[1])
    assert away["Location"] == f"/login/?next={link[1]}"
    stranger = logged_in(accounts.create_account("stranger@example.org"))
    refused = stranger.get(link[1])
    assert refused.status_code == 403
    assert "another address" in refused.content.decode()
    assert "guest@example.org" not in refused.content.decode()
    guest = logged_in(accounts.create_account("guest@example.org"))
    assert ">Lab</bdi>”" in guest.get(link[1]).content.decode()
    form = {"action": "accept", "lab": str(lab.key)}
    for _ in range(2):  # the form sent twice
        assert guest.post(link[1], form)["Location"] == address(lab)
    for other in ({}, {"lab": "\0"}, {"lab": str(uuid4())}):
        assert guest.post(link[1], {"action": "accept"} | other).status_code == 404
    assert stranger.post(link[1], form).status_code == 404
    assert guest.get(address(lab)).status_code == 200
    bad = client.post(address(lab, "invite/"), {"email": "no address"})
    assert bad.status_code == 422


def test_taking_back_and_refusing(client: Client, lab: Lab) -> None:
    client.post(address(lab, "invite/"), {"email": "guest@example.org"})
    invitation = Invitation.objects.get()
    for _ in range(2):
        client.post(address(lab, f"invitations/{invitation.pk}/"))
    assert not Invitation.objects.exists()


def test_revoking_stops_tokens_with_the_next_poll(
    client: Client, approved: AccessRequest, lab: Lab, member: Account, reviewer: Account
) -> None:
    tokens = [accounts.issue_token(who, Scope.LAB, lab=lab) for who in (lab.owner, member)]
    assert all(is_let_in(token) for token in tokens)
    decision = services.revoke(approved, reviewer, "misuse")
    assert [ask_the_api(token) for token in tokens] == [(403, "not_allowed")] * 2
    page = client.get(address(lab)).content.decode()
    assert "the approval was revoked" in page
    assert client.post(address(lab, "tokens/"), {"label": "x"}).status_code == 403
    services.undo(decision, reviewer)
    assert all(is_let_in(token) for token in tokens)


def test_of_others_nothing_is_seen(lab: Lab) -> None:
    stranger = logged_in(accounts.create_account("stranger@example.org"))
    assert stranger.get(address(lab)).status_code == 404
    far = "members/99999999999999999999999/"
    for what in ("share/", "invite/", "members/1/", far, "leave/", "tokens/", "tokens/1/"):
        assert stranger.post(address(lab, what)).status_code == 404, what
        assert Client().post(address(lab, what)).status_code == 302, what


def test_queries_do_not_grow(
    client: Client, researcher: Account, lab: Lab, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        services.create_lab(researcher, f"Lab {number}", 10)
        account = accounts.create_account(f"member{number}@example.org", name=f"Member {number}")
        services.add_member(lab, account, by=researcher)
        services.invite(lab, f"guest{number}@example.org", researcher)
        accounts.issue_token(researcher, Scope.LAB, lab=lab, label=f"node {number}")
    for number in range(6, 25):
        account = accounts.create_account(f"member{number}@example.org", name=f"Member {number}")
        services.add_member(lab, account, by=researcher)
    assert "Member 24" in client.get(address(lab, "?page=2")).content.decode()
    for path in ("/labs/", address(lab)):
        with django_assert_max_num_queries(11):
            assert client.get(path).status_code == 200
