"""Invitations into labs: bound to an address, once, for a week, and told to nobody else."""

from __future__ import annotations

import importlib
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone, translation

from accounts import services as accounts
from accounts.models import Account
from goblin_wire.problems import BadMessage, Conflict, NotAllowed, NotFound
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access import services
from research_access.models import AccessRequest, Invitation, Lab, LabRole
from research_access.services.invitations import purge

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(approved: AccessRequest) -> Lab:
    return services.create_lab(approved.account, "Phòng <b>Lab</b>")


def mail_to(address: str) -> OutboxMail:
    return OutboxMail.objects.get(address=address, template="lab_invitation")


def token_in(mail: OutboxMail) -> str:
    found = re.search(r"/invitations/([\w-]+)/", mail.body)
    assert found is not None
    return found[1]


def invited(lab: Lab, address: str) -> str:
    services.invite(lab, address, lab.owner)
    return token_in(mail_to(address))


def test_an_address_without_account(lab: Lab) -> None:
    invitation = services.invite(lab, " Guest@Example.org ", lab.owner)
    mail = mail_to("guest@example.org")
    assert mail.secret, "the text with the link is wiped once it has left"
    assert "Phòng <b>Lab</b>" in mail.subject
    token = token_in(mail)
    assert token not in invitation.token_hash
    guest = accounts.create_account("guest@example.org")
    member = services.accept_invitation(token, guest)
    assert (member.lab, member.role) == (lab, LabRole.MEMBER)
    assert not Invitation.objects.exists(), "and the address is gone with it"
    with pytest.raises(NotFound):
        services.accept_invitation(token, guest)


def test_asked_twice_one_mail(lab: Lab) -> None:
    first = services.invite(lab, "guest@example.org", lab.owner)
    assert services.invite(lab, "GUEST@example.org", lab.owner) == first
    assert OutboxMail.objects.filter(template="lab_invitation").count() == 1


def test_bound_to_its_address(lab: Lab, reviewer: Account) -> None:
    token = invited(lab, "guest@example.org")
    for stranger in (reviewer, accounts.create_account("guest2@example.org")):
        with pytest.raises(NotAllowed, match="another address") as refused:
            services.accept_invitation(token, stranger)
        assert "guest@" not in refused.value.detail
    assert lab.members.count() == 1


def test_expired_taken_back_refused(lab: Lab) -> None:
    guest = accounts.create_account("guest@example.org")
    token = invited(lab, "guest@example.org")
    Invitation.objects.update(expires=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        services.accept_invitation(token, guest)
    assert purge() == 1
    services.take_back_invitation(services.invite(lab, "x@example.org", lab.owner), lab.owner)
    assert mail_to("x@example.org").state == MailState.CANCELLED
    OutboxMail.objects.all().delete()
    services.refuse_invitation(invited(lab, "guest@example.org"), guest)
    assert not Invitation.objects.exists()
    with pytest.raises(NotFound):
        services.find_invitation("garbage", guest)


def test_an_expired_one_makes_room(lab: Lab) -> None:
    first = services.invite(lab, "guest@example.org", lab.owner)
    Invitation.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert services.invite(lab, "guest@example.org", lab.owner) != first


def test_who_may_invite(lab: Lab) -> None:
    member = accounts.create_account("member@example.org")
    services.add_member(lab, member, by=lab.owner)
    with pytest.raises(NotAllowed):
        services.invite(lab, "guest@example.org", member)
    with pytest.raises(Conflict):
        services.invite(lab, "member@example.org", lab.owner)
    with pytest.raises(BadMessage):
        services.invite(lab, "not an address", lab.owner)
    assert not OutboxMail.objects.filter(template="lab_invitation").exists()


def test_who_invited_must_still_be_allowed(lab: Lab, researcher: Account) -> None:
    token = invited(lab, "guest@example.org")
    guest = accounts.create_account("guest@example.org")
    second = accounts.create_account("second@example.org")
    services.add_member(lab, second, by=researcher)
    services.set_role(lab, second, LabRole.OWNER, by=researcher)
    services.leave_lab(lab, researcher)
    with pytest.raises(NotAllowed):
        services.accept_invitation(token, guest)


def test_into_a_suspended_lab(lab: Lab, reviewer: Account) -> None:
    token = invited(lab, "guest@example.org")
    guest = accounts.create_account("guest@example.org")
    services.suspend_lab(lab, reviewer)
    with pytest.raises(NotAllowed, match="suspended"):
        services.accept_invitation(token, guest)
    lab.refresh_from_db()
    with pytest.raises(NotAllowed, match="suspended"):
        services.invite(lab, "other@example.org", lab.owner)


def test_language_of_the_mail(lab: Lab) -> None:
    accounts.create_account("known@example.org", language="en")
    with translation.override("vi"):
        for address in ("known@example.org", "stranger@example.org"):
            services.invite(lab, address, lab.owner)
    assert mail_to("known@example.org").language == "en"
    assert mail_to("stranger@example.org").language == "vi", "of who invites"


def test_a_domain_in_two_spellings_is_one_address(lab: Lab) -> None:
    first = services.invite(lab, "a@bücher.example", lab.owner)
    assert services.invite(lab, "a@xn--bcher-kva.example", lab.owner) == first
    assert first.email == "a@xn--bcher-kva.example"


def test_invitations_that_were_kept_get_the_one_form(lab: Lab) -> None:
    kept = ("a@bücher.example", "a@xn--bcher-kva.example", "b@bücher.example", "c@☃.example")
    for number, email in enumerate(kept):
        row = services.invite(lab, f"{number}@example.org", lab.owner)
        Invitation.objects.filter(pk=row.pk).update(email=email)
    name = "research_access.migrations.0007_one_form_of_addresses"
    importlib.import_module(name).forward(apps, None)
    assert sorted(lab.invitations.values_list("email", flat=True)) == [
        "a@xn--bcher-kva.example",
        "b@xn--bcher-kva.example",
        "c@☃.example",
    ]
