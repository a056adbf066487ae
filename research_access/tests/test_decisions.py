"""What reviewers decide: the table of moves, one decision for two reviewers, and a fixed record."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts import services as accounts
from accounts.models import Account
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from goblin_wire.states import REQUEST_MOVES, RequestState
from gpugoblin_site.fixed_history import HistoryIsFixed
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access import services
from research_access.management.commands.make_network_people import COMPLETE
from research_access.models import AccessRequest, Decision, Lab, LabState
from research_access.tests.conftest import speaks

pytestmark = pytest.mark.django_db


def test_the_straight_way(submitted: AccessRequest, researcher: Account, reviewer: Account) -> None:
    services.ask_info(submitted, reviewer, "Which data?")
    services.reply(submitted, researcher, "Public data.")
    services.approve(submitted, reviewer, reason="Good.", daily_flops=10**15)
    submitted.refresh_from_db()
    assert submitted.state == RequestState.APPROVED
    moves = list(submitted.decisions.order_by("id").values_list("to_state", "actor_id", "reason"))
    assert moves == [
        ("submitted", researcher.pk, ""),
        ("info_asked", reviewer.pk, "Which data?"),
        ("submitted", researcher.pk, ""),
        ("approved", reviewer.pk, "Good."),
    ]
    assert services.approved_flops([submitted])[submitted.pk] == 10**15


MOVES: dict[RequestState, Callable[[AccessRequest, Account, Account], Any]] = {
    RequestState.SUBMITTED: lambda r, owner, _: services.submit_request(r, owner),
    RequestState.WITHDRAWN: lambda r, owner, _: services.withdraw(r, owner),
    RequestState.INFO_ASKED: lambda r, _, reviewer: services.ask_info(r, reviewer, "?"),
    RequestState.APPROVED: lambda r, _, reviewer: services.approve(r, reviewer),
    RequestState.DECLINED: lambda r, _, reviewer: services.decline(r, reviewer, "no"),
    RequestState.REVOKED: lambda r, _, reviewer: services.revoke(r, reviewer, "misuse"),
}


@pytest.mark.parametrize("before", RequestState)
@pytest.mark.parametrize("after", MOVES)
def test_only_the_moves_of_the_table(
    draft: AccessRequest,
    researcher: Account,
    reviewer: Account,
    before: RequestState,
    after: RequestState,
) -> None:
    AccessRequest.objects.update(state=before.value)
    if after in REQUEST_MOVES[before]:
        MOVES[after](draft, researcher, reviewer)
        assert AccessRequest.objects.get().state == after
        decision = draft.decisions.get()
        assert decision.from_state == before
        mails = list(OutboxMail.objects.values_list("key", "template"))
        is_thrown_away = (before, after) == (RequestState.DRAFT, RequestState.WITHDRAWN)
        told = [] if is_thrown_away else [(f"decision:{decision.pk}", f"access_{after}")]
        assert mails == told
    else:
        with pytest.raises(Conflict):
            MOVES[after](draft, researcher, reviewer)
        assert AccessRequest.objects.get().state == before
        assert not draft.decisions.exists()
        assert not OutboxMail.objects.exists()


def test_mail_of_a_decision(
    submitted: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    speaks(researcher, "vi")
    decision = services.decline(submitted, reviewer, "Không phải nghiên cứu.")
    mail = OutboxMail.objects.get(key=f"decision:{decision.pk}")
    assert mail.language == "vi"
    assert "Không phải nghiên cứu." in mail.body
    assert timedelta(seconds=110) < mail.due - timezone.now() <= timedelta(minutes=2)


def test_who_may_decide(submitted: AccessRequest, researcher: Account) -> None:
    stranger = accounts.create_account("stranger@example.org")
    staff = accounts.create_account("staff@example.org")
    staff.is_staff = True
    staff.save()
    for account in (researcher, stranger, staff):
        with pytest.raises(NotAllowed):
            services.approve(submitted, account)
    staff.user_permissions.add(Permission.objects.get(codename="review_accessrequest"))
    services.approve(submitted, Account.objects.get(pk=staff.pk))


def test_nobody_decides_on_their_own(reviewer: Account) -> None:
    own = services.draft(reviewer)
    services.save_draft(own, reviewer, **COMPLETE)
    services.submit_request(own, reviewer)
    with pytest.raises(NotAllowed, match="of their own"):
        services.approve(own, reviewer)


def test_bad_decisions(submitted: AccessRequest, reviewer: Account) -> None:
    for reason in (" ", "x" * 4001):
        with pytest.raises(BadMessage):
            services.decline(submitted, reviewer, reason)
    with pytest.raises(BadMessage):
        services.approve(submitted, reviewer, daily_flops=2**63)


@pytest.mark.parametrize(
    "reason", ["Dear NGUYEN THI ANH, no.", "researcher@example.org", "Ask Reviewer@Example.org"]
)
def test_a_record_that_stays_names_nobody(
    submitted: AccessRequest, reviewer: Account, reason: str
) -> None:
    with pytest.raises(BadMessage, match="no name"):
        services.decline(submitted, reviewer, reason)


def test_a_decision_on_what_is_outdated(
    submitted: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    seen = services.latest(submitted)
    assert seen is not None
    second = accounts.make_operator("second@example.org")
    services.ask_info(submitted, second, "Which data?", seen=seen.pk)
    with pytest.raises(Conflict, match=r"by second@example.org. Which data\?"):
        services.decline(submitted, reviewer, "no", seen=seen.pk)
    assert OutboxMail.objects.filter(template="access_declined").count() == 0
    services.decline(submitted, second, "no")
    with pytest.raises(Conflict, match="declined") as told:
        services.withdraw(submitted, researcher)
    assert "second@example.org" not in told.value.detail, "applicants read no reviewer's name"


def test_revocation_suspends_the_labs(approved: AccessRequest, reviewer: Account) -> None:
    lab = services.create_lab(approved.account, "Lab")
    services.revoke(approved, reviewer, "misuse")
    lab.refresh_from_db()
    assert lab.state == LabState.SUSPENDED
    with pytest.raises(NotAllowed):
        services.reinstate_lab(Lab.objects.get(), reviewer)


def test_undoing(submitted: AccessRequest, reviewer: Account) -> None:
    decision = services.decline(submitted, reviewer, "no")
    undone = services.undo(decision, reviewer)
    submitted.refresh_from_db()
    assert submitted.state == RequestState.SUBMITTED
    assert (undone.undoes, undone.from_state, undone.to_state) == (
        decision,
        "declined",
        "submitted",
    )
    assert OutboxMail.objects.get(key=f"decision:{decision.pk}").state == MailState.CANCELLED
    assert not OutboxMail.objects.filter(key=f"decision:{undone.pk}").exists()
    for again in (decision, undone):
        with pytest.raises((Conflict, NotAllowed)):
            services.undo(again, reviewer)
    services.approve(submitted, reviewer)


def test_undoing_a_revocation_gives_the_labs_back(
    approved: AccessRequest, reviewer: Account
) -> None:
    lab = services.create_lab(approved.account, "Lab", 5)
    stopped = services.create_lab(approved.account, "Stopped", 5)
    services.suspend_lab(stopped, reviewer)
    services.undo(services.revoke(approved, reviewer, "misuse"), reviewer)
    assert dict(Lab.objects.values_list("pk", "state")) == {
        lab.pk: "active",
        stopped.pk: "suspended",
    }
    assert services.approved_flops([approved])[approved.pk] == services.DEFAULT_DAILY_FLOPS


def test_what_is_too_late_to_undo(
    submitted: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    second = accounts.make_operator("second@example.org")
    asked = services.ask_info(submitted, reviewer, "?")
    with pytest.raises(NotAllowed):
        services.undo(asked, second)
    services.reply(submitted, researcher, "!")
    with pytest.raises(Conflict, match="something happened"):
        services.undo(asked, reviewer)
    declined = services.decline(submitted, reviewer, "no")
    OutboxMail.objects.filter(key=f"decision:{declined.pk}").update(state=MailState.SENT)
    with pytest.raises(Conflict, match="has left"):
        services.undo(declined, reviewer)


def test_undo_loses_against_what_followed(
    submitted: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    declined = services.decline(submitted, reviewer, "no")
    submitted.refresh_from_db()
    again = services.apply_again(submitted, researcher)
    with pytest.raises(Conflict, match="another request"):
        services.undo(declined, reviewer)
    mail = OutboxMail.objects.get(key=f"decision:{declined.pk}")
    assert mail.state == MailState.WAITING, "refused as a whole"
    services.save_draft(again, researcher, **COMPLETE)
    services.submit_request(again, researcher)
    approval = services.approve(again, reviewer)
    services.create_lab(researcher, "Lab")
    with pytest.raises(Conflict, match="revoke"):
        services.undo(approval, reviewer)


def test_history_is_fixed_in_the_model(approved: AccessRequest) -> None:
    decision = approved.decisions.latest("id")
    decision.reason = "another"
    with pytest.raises(HistoryIsFixed):
        decision.save()
    with pytest.raises(HistoryIsFixed):
        decision.delete()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE research_access_decision SET reason = 'another'",
        "DELETE FROM research_access_decision",
    ],
)
def test_decisions_are_fixed_in_the_database(approved: AccessRequest, sql: str) -> None:
    with (
        pytest.raises(IntegrityError, match="neither be changed nor deleted"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.update(reason="another")
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.all().delete()
    assert Decision.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_reviewers_at_once_decide_once() -> None:
    researcher = accounts.create_account("researcher@example.org")
    reviewers = [accounts.make_operator(f"reviewer{n}@example.org") for n in range(6)]
    request = services.draft(researcher)
    services.save_draft(request, researcher, **COMPLETE)
    services.submit_request(request, researcher)
    barrier = threading.Barrier(len(reviewers))
    refused: list[Exception] = []

    def decide(number: int) -> None:
        barrier.wait(timeout=10)
        try:
            if number % 2:
                services.approve(request, reviewers[number])
            else:
                services.decline(request, reviewers[number], "no")
        except Conflict as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=decide, args=(n,)) for n in range(len(reviewers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    request.refresh_from_db()
    assert request.decisions.latest("id").to_state == request.state
    assert request.decisions.count() == 2
    assert OutboxMail.objects.filter(due__gt=timezone.now()).count() == 1, "one mail goes out"


def test_waiting_time(reviewer: Account) -> None:
    assert services.median_wait() is None
    for days in (1, 2, 30):
        person = accounts.create_account(f"{days}@example.org")
        request = services.draft(person)
        services.save_draft(request, person, **COMPLETE)
        services.submit_request(request, person)
        sent = timezone.now() - timedelta(days=days)
        AccessRequest.objects.filter(pk=request.pk).update(submitted=sent)
        decision = services.decline(request, reviewer, "no")
    median = services.median_wait()
    assert median is not None
    assert abs(median - timedelta(days=2)) < timedelta(minutes=1)
    services.undo(decision, reviewer)
    median = services.median_wait()
    assert median is not None
    assert abs(median - timedelta(days=1.5)) < timedelta(minutes=1)
