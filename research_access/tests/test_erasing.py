"""What the deletion of an account clears, and what stays."""

from __future__ import annotations

import pytest
from django.core import serializers
from django.db import models

from accounts import erasure
from accounts import services as accounts
from accounts.models import Account
from goblin_wire.problems import NotFound
from research_access import services
from research_access.erasing import labs_that_end
from research_access.models import (
    AccessRequest,
    Decision,
    Invitation,
    Lab,
    LabMember,
    LabRole,
    LabState,
    Message,
    SavedReply,
    Viewing,
)
from research_access.services.invitations import token_hash

pytestmark = pytest.mark.django_db
MODELS: tuple[type[models.Model], ...] = (
    AccessRequest,
    Decision,
    Invitation,
    Lab,
    LabMember,
    Message,
    SavedReply,
    Viewing,
)


def dump() -> str:
    rows = [row for model in MODELS for row in model._default_manager.all()]
    return str(serializers.serialize("json", rows))


def test_texts_go_and_decisions_stay(approved: AccessRequest, reviewer: Account) -> None:
    account = approved.account
    more = services.apply_again(approved, account)
    services.save_draft(more, account, no_confidential=True, noncommercial=True)
    services.submit_request(more, account)
    services.reply(more, account, "Yours, Nguyễn Thị Ánh")
    services.tell(more, reviewer, "Dear Ánh")
    lab = services.create_lab(account, "Phòng lab Nguyễn Thị Ánh")
    services.invite(lab, "guest@example.org", account)
    decided = list(Decision.objects.order_by("id").values())
    assert "Ánh" in dump()
    erasure.erase(account)
    left = dump()
    for trace in ("Ánh", "anh", "example.org", "Example Institute", "Folding"):
        assert trace not in left, trace
    kept = list(Decision.objects.order_by("id").values())
    assert kept[: len(decided)] == decided
    more.refresh_from_db()
    assert (more.state, more.kinds) == ("withdrawn", ["products"])
    assert more.erased is not None
    lab.refresh_from_db()
    assert lab.state == LabState.SUSPENDED
    assert lab.daily_flops == services.DEFAULT_DAILY_FLOPS


def test_a_lab_goes_on_under_another_owner(approved: AccessRequest) -> None:
    lab = services.create_lab(approved.account, "Lab")
    assert labs_that_end(approved.account) == ["Lab"]
    second = accounts.create_account("second@example.org")
    services.add_member(lab, second, by=approved.account)
    assert labs_that_end(approved.account) == ["Lab"]
    services.set_role(lab, second, LabRole.OWNER, by=approved.account)
    assert labs_that_end(approved.account) == []
    erasure.erase(approved.account)
    lab.refresh_from_db()
    assert (lab.owner, lab.state, lab.name) == (second, LabState.ACTIVE, "Lab")
    assert lab.members.get().account == second


def test_an_invitation_to_a_deleted_account(approved: AccessRequest) -> None:
    lab = services.create_lab(approved.account, "Lab")
    guest = accounts.create_account("guest@example.org")
    services.invite(lab, "guest@example.org", approved.account)
    Invitation.objects.update(token_hash=token_hash("secret"))
    erasure.erase(guest)
    assert not Invitation.objects.exists()
    again = accounts.create_account("guest@example.org")
    with pytest.raises(NotFound):
        services.accept_invitation("secret", again)


def test_a_reviewer_leaves(submitted: AccessRequest, reviewer: Account) -> None:
    second = accounts.make_operator("second@example.org")
    services.tell(submitted, second, "Yours, Second")
    Viewing.objects.create(request=submitted, reviewer=second)
    services.decline(submitted, second, "Too vague.")
    erasure.erase(second)
    assert "Yours, Second" not in dump()
    assert not Viewing.objects.exists()
    assert submitted.decisions.latest("id").reason == "Too vague."
