"""Labs: what they rest on, who belongs to them, how much they may ask for."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounts import services as accounts
from accounts.authentication import principal_of_token
from accounts.models import Account, ApiToken, Person
from goblin_wire.problems import BadMessage, Conflict, NotAllowed, TokenExpired
from goblin_wire.tokens import Scope
from research_access import services
from research_access.management.commands.make_network_people import approved_request
from research_access.models import AccessRequest, Lab, LabRole, LabState

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(approved: AccessRequest) -> Lab:
    return services.create_lab(approved.account, "Lab")


@pytest.fixture
def member(lab: Lab) -> Account:
    account = accounts.create_account("member@example.org")
    services.add_member(lab, account, by=lab.owner)
    return account


def test_no_lab_without_approval(
    draft: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    with pytest.raises(NotAllowed, match="approved"):
        services.create_lab(researcher, "Lab")
    services.submit_request(draft, researcher)
    services.decline(draft, reviewer, "no")
    with pytest.raises(NotAllowed):
        services.create_lab(researcher, "Lab")


def test_labs_share_what_was_approved(approved: AccessRequest, researcher: Account) -> None:
    first = services.create_lab(researcher, " Lab\u202e ", 10**17)
    assert (first.name, first.owner, first.request) == ("Lab", researcher, approved)
    assert first.members.get().role == LabRole.OWNER
    with pytest.raises(NotAllowed, match="left"):
        services.create_lab(researcher, "Second", 10**18)
    second = services.create_lab(researcher, "Second")
    assert second.daily_flops == services.DEFAULT_DAILY_FLOPS - 10**17
    with pytest.raises(NotAllowed, match="share"):
        services.create_lab(researcher, "Third")
    services.share_quota(second, researcher, 10**17)
    with pytest.raises(NotAllowed, match="left"):
        services.share_quota(first, researcher, 10**18)
    third = services.create_lab(researcher, "Third")
    assert sum(Lab.objects.values_list("daily_flops", flat=True)) == services.DEFAULT_DAILY_FLOPS
    assert third.state == LabState.ACTIVE


def test_a_second_approval_gives_more(lab: Lab, researcher: Account, reviewer: Account) -> None:
    more = approved_request(researcher, reviewer, daily_flops=7)
    second = services.create_lab(researcher, "Second")
    assert (second.request, second.daily_flops) == (more, 7)


@pytest.mark.parametrize("name", ["", " ", "\u202e", "n" * 121])
def test_names_that_are_none(approved: AccessRequest, researcher: Account, name: str) -> None:
    with pytest.raises(BadMessage):
        services.create_lab(researcher, name)


def test_a_form_sent_twice_opens_one_lab(approved: AccessRequest, researcher: Account) -> None:
    services.create_lab(researcher, "Lab", 5)
    with pytest.raises(Conflict):
        services.create_lab(researcher, "Lab", 5)
    assert Lab.objects.count() == 1


def test_quota_by_reviewers(lab: Lab, researcher: Account, reviewer: Account) -> None:
    assert services.set_quota(lab, reviewer, 7).daily_flops == 7
    with pytest.raises(NotAllowed):
        services.set_quota(lab, researcher, 8)
    for wrong in (-1, 2**63):
        with pytest.raises(BadMessage):
            services.set_quota(lab, reviewer, wrong)


def test_members(lab: Lab, member: Account, researcher: Account) -> None:
    stranger = accounts.create_account("stranger@example.org")
    for who in (stranger, member):
        with pytest.raises(NotAllowed):
            services.add_member(lab, stranger, by=who)
        with pytest.raises(NotAllowed):
            services.remove_member(lab, researcher, by=who)
    with pytest.raises(Conflict):
        services.add_member(lab, member, by=researcher)
    services.remove_member(lab, member, by=researcher)
    with pytest.raises(NotAllowed):
        services.remove_member(lab, member, by=researcher)
    assert lab.members.count() == 1


def test_leaving_revokes_ones_tokens(lab: Lab, member: Account, researcher: Account) -> None:
    mine = accounts.issue_token(member, Scope.LAB, lab=lab)
    others = accounts.issue_token(researcher, Scope.LAB, lab=lab)
    services.leave_lab(lab, member)
    services.add_member(lab, member, by=researcher)
    with pytest.raises(TokenExpired):
        principal_of_token(mine, Scope.LAB)
    assert principal_of_token(others, Scope.LAB).lab == lab.pk
    assert ApiToken.objects.filter(revoked__isnull=True).count() == 1


def test_a_lab_keeps_an_owner(lab: Lab, member: Account, researcher: Account) -> None:
    with pytest.raises(NotAllowed, match="only owner"):
        services.leave_lab(lab, researcher)
    with pytest.raises(NotAllowed, match="only owner"):
        services.set_role(lab, researcher, LabRole.MEMBER, by=researcher)
    services.set_role(lab, member, LabRole.OWNER, by=researcher)
    services.leave_lab(lab, researcher)
    lab.refresh_from_db()
    assert lab.owner == member
    with pytest.raises(NotAllowed):
        services.add_member(lab, researcher, by=researcher)


@pytest.mark.django_db(transaction=True)
def test_two_owners_leave_at_once(lab: Lab, member: Account, researcher: Account) -> None:
    services.set_role(lab, member, LabRole.OWNER, by=researcher)
    barrier = threading.Barrier(2)
    refused: list[Exception] = []

    def leave(account: Account) -> None:
        barrier.wait(timeout=10)
        try:
            services.leave_lab(lab, account)
        except NotAllowed as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=leave, args=(who,)) for who in (member, researcher)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    left = lab.members.get()
    lab.refresh_from_db()
    assert (left.role, left.account) == (LabRole.OWNER, lab.owner)


def test_suspension(lab: Lab, researcher: Account, reviewer: Account) -> None:
    with pytest.raises(NotAllowed):
        services.suspend_lab(lab, researcher)
    assert services.suspend_lab(lab, reviewer).state == LabState.SUSPENDED
    assert services.reinstate_lab(lab, reviewer).state == LabState.ACTIVE


def test_people_of_a_network(capsys: Any) -> None:
    for volunteers in (1, 3):
        call_command("make_network_people", "--volunteers", str(volunteers), "--json")
        people = json.loads(capsys.readouterr().out)
        assert len(people["volunteers"]) == volunteers
        lab = principal_of_token(people["lab"]["token"], Scope.LAB)
        assert lab.lab_key is not None
        assert lab.lab_key.hex == people["lab"]["id"]
        senders = {
            principal_of_token(v["token"], Scope.VOLUNTEER).account_id for v in people["volunteers"]
        }
        assert len(senders | {lab.account_id}) == volunteers + 1
    assert Lab.objects.count() == 2
    assert Person.objects.filter(email=people["researcher_email"]).exists()
