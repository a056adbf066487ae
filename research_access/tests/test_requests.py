"""The moves of a request for access, and its history that nobody can change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction

from accounts import services as accounts
from accounts.models import Account
from goblin_wire.problems import AccountSuspended, BadMessage, Conflict, NotAllowed
from goblin_wire.states import REQUEST_MOVES, RequestState
from research_access import services
from research_access.models import AccessRequest, Decision, HistoryIsFixed, Lab, LabState

pytestmark = pytest.mark.django_db


def test_the_straight_way(draft: AccessRequest, researcher: Account, reviewer: Account) -> None:
    services.submit_request(draft, researcher)
    services.ask_info(draft, reviewer, "Which data?")
    services.edit_request(draft, researcher, purpose="Folding, of public data.")
    services.submit_request(draft, researcher)
    services.approve(draft, reviewer, reason="Good.", daily_flops=10**15)
    draft.refresh_from_db()
    assert draft.state == RequestState.APPROVED
    assert draft.submitted is not None
    moves = list(draft.decisions.order_by("id").values_list("to_state", "actor_id", "reason"))
    assert moves == [
        ("submitted", researcher.pk, ""),
        ("info_asked", reviewer.pk, "Which data?"),
        ("submitted", researcher.pk, ""),
        ("approved", reviewer.pk, "Good."),
    ]
    assert services.approved_flops(draft) == 10**15


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
        assert draft.decisions.get().from_state == before
    else:
        with pytest.raises(Conflict):
            MOVES[after](draft, researcher, reviewer)
        assert AccessRequest.objects.get().state == before
        assert not draft.decisions.exists()


def test_who_may_decide(draft: AccessRequest, researcher: Account) -> None:
    services.submit_request(draft, researcher)
    stranger = accounts.create_account("stranger@example.org")
    staff = accounts.create_account("staff@example.org")
    staff.is_staff = True
    staff.save()
    for account in (researcher, stranger, staff):
        with pytest.raises(NotAllowed):
            services.approve(draft, account)
    staff.user_permissions.add(Permission.objects.get(codename="review_accessrequest"))
    services.approve(draft, Account.objects.get(pk=staff.pk))


def test_nobody_decides_on_their_own(reviewer: Account) -> None:
    own = services.draft_request(reviewer, title="Mine", purpose="p")
    services.submit_request(own, reviewer)
    with pytest.raises(NotAllowed, match="of their own"):
        services.approve(own, reviewer)


def test_requests_of_others(draft: AccessRequest, reviewer: Account) -> None:
    for move in (services.submit_request, services.withdraw, services.edit_request):
        with pytest.raises(NotAllowed):
            move(draft, reviewer)


def test_edits(draft: AccessRequest, researcher: Account) -> None:
    services.edit_request(draft, researcher, title="New", daily_flops=5)
    with pytest.raises(BadMessage):
        services.edit_request(draft, researcher, state="approved")
    with pytest.raises(BadMessage):
        services.edit_request(draft, researcher, title=" ")
    services.submit_request(draft, researcher)
    with pytest.raises(NotAllowed):
        services.edit_request(draft, researcher, title="Later")


def test_bad_input(researcher: Account, reviewer: Account) -> None:
    for fields in ({"title": ""}, {"title": "t" * 201}, {"title": "t", "daily_flops": -1}):
        with pytest.raises(BadMessage):
            services.draft_request(researcher, **fields)
    empty = services.draft_request(researcher, title="t")
    with pytest.raises(BadMessage, match="purpose"):
        services.submit_request(empty, researcher)
    services.edit_request(empty, researcher, purpose="p")
    services.submit_request(empty, researcher)
    for reason in (" ", "x" * 4001):
        with pytest.raises(BadMessage):
            services.decline(empty, reviewer, reason)
    with pytest.raises(BadMessage):
        services.approve(empty, reviewer, daily_flops=2**63)


def test_suspended_researcher(draft: AccessRequest, researcher: Account) -> None:
    accounts.suspend(researcher)
    with pytest.raises(AccountSuspended):
        services.submit_request(draft, researcher)
    with pytest.raises(AccountSuspended):
        services.draft_request(researcher, title="t")


def test_revocation_suspends_the_lab(approved: AccessRequest, reviewer: Account) -> None:
    lab = services.create_lab(approved.account, "Lab")
    services.revoke(approved, reviewer, "misuse")
    lab.refresh_from_db()
    assert lab.state == LabState.SUSPENDED
    with pytest.raises(NotAllowed):
        services.reinstate_lab(Lab.objects.get(), reviewer)


def test_decisions_are_fixed_in_the_model(approved: AccessRequest) -> None:
    decision = approved.decisions.get(to_state="approved")
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
    request = services.draft_request(researcher, title="t", purpose="p")
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
