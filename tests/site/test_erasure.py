"""After an account was deleted nothing tells who it was: not the database, not the logs."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import structlog
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.test import Client
from django.urls import reverse

from accounts import erasure, services
from accounts.authentication import principal_of_token
from accounts.models import Account, AccountState, Person, Session
from accounts.tests.browsing import fields
from goblin_wire.problems import NotAllowed, TokenInvalid
from goblin_wire.tokens import Scope
from gpugoblin_site import logs, middleware
from gpugoblin_site.mail import claims, delivery, outbox
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access.models import Decision, LabState
from tests.people import as_operator, logged_in
from tests.site import sentinels
from tests.site.sentinels import ADDRESS, World
from workunits.models import CreditDay, CreditEntry, LabNode, Standing, Verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.BytesIO]:
    """All lines of the log, as in production."""
    before = structlog.get_config()
    stream = io.BytesIO()
    logs.configure("DEBUG", stream)
    for module, name in ((middleware, "request"), (delivery, "mail")):
        monkeypatch.setattr(module, "_log", logs.logger(name))
    yield stream
    structlog.configure(**before)
    logs.configure("CRITICAL")


@pytest.fixture
def world(said: io.BytesIO) -> World:
    return World()


def delete(world: World) -> str:
    """By the page, as the person does it."""
    page = world.browser.get("/account/delete/").content.decode()
    done = world.browser.post("/account/delete/", fields(page) | {"email": f" {ADDRESS.upper()} "})
    assert done.status_code == 200, done.content.decode()
    return done.content.decode()


def test_no_dump_and_no_log_tells_who_it_was(world: World, said: io.BytesIO) -> None:
    assert len(sentinels.told(sentinels.dump())) > 15, "the sentinels are where we look"
    text = delete(world)
    assert "Tài khoản của bạn đã được xoá" in text
    delivery.deliver_due()
    assert sentinels.told(sentinels.dump()) == []
    assert b"account/delete/" in said.getvalue()
    assert sentinels.told(said.getvalue().decode()) == []


def test_the_databases_own_log_quotes_nobody(world: World) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Person.objects.create(account=world.reviewer, email=ADDRESS)
    assert "duplicate key" in sentinels.database_log()
    assert sentinels.told(sentinels.database_log()) == []


def test_sums_and_decisions_stay(world: World) -> None:
    tables = (CreditEntry, CreditDay, Standing, Verdict)
    before = [list(table._default_manager.order_by("pk").values()) for table in tables]
    decisions = list(Decision.objects.order_by("pk").values())
    delete(world)
    assert before == [list(table._default_manager.order_by("pk").values()) for table in tables]
    assert list(Decision.objects.order_by("pk").values())[: len(decisions)] == decisions
    assert CreditEntry.objects.aggregate(all=Sum("flops"))["all"] == 2**60


def test_nothing_opens_it_any_more(world: World) -> None:
    token = services.issue_token(world.account, Scope.VOLUNTEER)
    delete(world)
    assert world.browser.get("/account/").status_code == 302
    assert not Session.objects.filter(account=world.account).exists()
    with pytest.raises(TokenInvalid):
        principal_of_token(token, Scope.VOLUNTEER)
    services.reinstate(world.account)
    world.account.refresh_from_db()
    assert world.account.state == AccountState.ERASED
    assert not world.account.is_staff


def test_labs_go_on_or_are_closed(world: World) -> None:
    page = world.browser.get("/account/delete/").content.decode()
    assert "Zebrina&#x27;s lab" in page
    delete(world)
    for lab, state, owner in (
        (world.lab, LabState.SUSPENDED, world.account),
        (world.inherited, LabState.ACTIVE, world.colleague),
        (world.shared, LabState.ACTIVE, world.colleague),
    ):
        lab.refresh_from_db()
        assert (lab.state, lab.owner) == (state, owner)
    assert not LabNode.objects.filter(lab=world.lab).exists()


def test_a_mail_under_way_is_not_sent_any_more(world: World) -> None:
    OutboxMail.objects.exclude(key="check:waiting").delete()
    OutboxMail.objects.update(due="2020-01-01T00:00Z")
    under_way = claims.claim_next()
    assert under_way is not None
    erasure.erase(world.account)
    with pytest.raises(claims.ClaimLost):
        claims.hand_over(under_way)
    assert outbox.queue(world.account, "check", {}, key="check:later").state == MailState.CANCELLED


def test_the_same_address_is_somebody_new(world: World) -> None:
    delete(world)
    again = services.account_for(ADDRESS, language="vi")
    assert again != world.account
    assert not CreditEntry.objects.filter(account=again).exists()


@pytest.mark.parametrize("typed", ["", "colleague@example.org", "nonsense"])
def test_another_address_deletes_nothing(world: World, typed: str) -> None:
    page = world.browser.get("/account/delete/").content.decode()
    refused = world.browser.post("/account/delete/", fields(page) | {"email": typed})
    assert refused.status_code == 400
    assert Person.objects.filter(email=ADDRESS).exists()


def test_an_old_session_proves_itself_first(world: World) -> None:
    stale = Client()
    stale.force_login(world.account, backend="accounts.backends.SessionBackend")
    for answer in (stale.get("/account/delete/"), stale.post("/account/delete/", {})):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login/?again=1")
    assert Person.objects.filter(email=ADDRESS).exists()


def test_the_last_superuser_stays() -> None:
    operator = services.make_operator("operator@example.org")
    with pytest.raises(NotAllowed, match="only superuser"):
        erasure.erase(operator)
    assert Account.objects.get(pk=operator.pk).is_superuser
    services.make_operator("second@example.org")
    erasure.erase(operator)
    erasure.erase(operator)
    assert not Person.objects.filter(account=operator).exists()


def test_a_room_that_fails_stops_all(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("workunits.removal.remove_all", fail)
    with pytest.raises(ZeroDivisionError):
        erasure.erase(world.account)
    assert Person.objects.filter(email=ADDRESS).exists()
    assert outbox.state_of("check:waiting") is MailState.WAITING


def test_the_command_says_first_what_ends(world: World) -> None:
    assert "Zebrina's lab" in call_command("erase_account", ADDRESS)
    assert Person.objects.filter(email=ADDRESS).exists()
    call_command("erase_account", ADDRESS.upper(), yes=True)
    assert sentinels.told(sentinels.dump()) == []
    for email in (ADDRESS, "nonsense"):
        with pytest.raises(CommandError):
            call_command("erase_account", email, yes=True)


def test_pages_of_others_go_on(world: World) -> None:
    delete(world)
    superuser = as_operator(world.reviewer)
    for row in (world.account, world.lab, world.inherited, *world.account.access_requests.all()):
        meta = row._meta
        where = f"admin:{meta.app_label}_{meta.model_name}"
        for page in (reverse(f"{where}_changelist"), reverse(f"{where}_change", args=(row.pk,))):
            assert superuser.get(page).status_code == 200, page
    for page in ("admin:index", "admin:gpugoblin_site_outboxmail_changelist", "admin:cockpit"):
        assert superuser.get(reverse(page)).status_code == 200, page
    colleague = logged_in(world.colleague)
    for page in ("/labs/", f"/labs/{world.inherited.key}/", f"/labs/{world.inherited.key}/jobs/"):
        assert colleague.get(page).status_code == 200, page
    for page in ("/", "/leaderboard/", "/status/"):
        assert Client().get(page).status_code == 200, page
