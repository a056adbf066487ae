"""Labs: what they rest on, who belongs to them, how much they may ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command

from accounts import services as accounts
from accounts.authentication import principal_of_token
from accounts.models import Account, Person
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from goblin_wire.tokens import Scope
from research_access import services
from research_access.models import AccessRequest, Lab, LabRole, LabState

pytestmark = pytest.mark.django_db


def test_no_lab_without_approval(
    draft: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    with pytest.raises(NotAllowed, match="approved"):
        services.create_lab(researcher, "Lab")
    services.submit_request(draft, researcher)
    services.decline(draft, reviewer, "no")
    with pytest.raises(NotAllowed):
        services.create_lab(researcher, "Lab")


def test_one_lab_for_each_approval(approved: AccessRequest, researcher: Account) -> None:
    lab = services.create_lab(researcher, " Lab ")
    assert (lab.name, lab.owner, lab.request) == ("Lab", researcher, approved)
    assert lab.daily_flops == services.DEFAULT_DAILY_FLOPS
    assert lab.members.get().role == LabRole.OWNER
    with pytest.raises(NotAllowed):
        services.create_lab(researcher, "Second")


def test_quota_is_bounded_by_the_approval(approved: AccessRequest, researcher: Account) -> None:
    with pytest.raises(NotAllowed):
        services.create_lab(researcher, "Lab", services.DEFAULT_DAILY_FLOPS + 1)
    with pytest.raises(BadMessage):
        services.create_lab(researcher, "")
    assert services.create_lab(researcher, "Lab", 10**12).daily_flops == 10**12


def test_quota(approved: AccessRequest, researcher: Account, reviewer: Account) -> None:
    lab = services.create_lab(researcher, "Lab")
    assert services.set_quota(lab, reviewer, 7).daily_flops == 7
    with pytest.raises(NotAllowed):
        services.set_quota(lab, researcher, 8)
    for wrong in (-1, 2**63):
        with pytest.raises(BadMessage):
            services.set_quota(lab, reviewer, wrong)


def test_members(approved: AccessRequest, researcher: Account) -> None:
    lab = services.create_lab(researcher, "Lab")
    other = accounts.create_account("other@example.org")
    with pytest.raises(NotAllowed):
        services.add_member(lab, other, by=other)
    assert services.add_member(lab, other, by=researcher).role == LabRole.MEMBER
    with pytest.raises(Conflict):
        services.add_member(lab, other, by=researcher)
    with pytest.raises(NotAllowed, match="owner"):
        services.remove_member(lab, researcher, by=researcher)
    services.remove_member(lab, other, by=researcher)
    with pytest.raises(NotAllowed):
        services.remove_member(lab, other, by=researcher)
    assert lab.members.count() == 1


def test_suspension(approved: AccessRequest, researcher: Account, reviewer: Account) -> None:
    lab = services.create_lab(researcher, "Lab")
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
