"""Proposals for the catalogue: what is kept, answered, and left by an erasure."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import serializers
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts import erasure
from accounts import services as accounts
from accounts.models import Account, AccountState
from goblin_wire.problems import AccountSuspended, BadMessage, Conflict, NotAllowed, RateLimited
from gpugoblin_site.fixed_history import HistoryIsFixed
from gpugoblin_site.mail.models import OutboxMail
from research_access import services
from research_access.models import Proposal, ProposalMove, ProposalState
from research_access.services import Answer, proposals
from research_access.tests.conftest import speaks
from research_access.tests.test_pages import logged_in

pytestmark = pytest.mark.django_db
NEED = {"what": "Sparse times dense", "purpose": "Heat in a rod, by Nguyễn Thị Ánh."}
PLANNED = Answer(ProposalState.PLANNED, "Next spring.", "Sparse products", "Tích thưa")
DECLINED = Answer(ProposalState.DECLINED, "One machine is faster.")


@pytest.fixture
def proposal(researcher: Account) -> Proposal:
    return services.propose(researcher, **NEED)


def test_texts_are_kept_clean(researcher: Account) -> None:
    row = services.propose(
        researcher,
        what="  Sparse \u202eesneD\x00\n product ",
        purpose="one\r\ntwo\x07\t ",
        reference="<script>alert(1)</script>",
    )
    assert row.what == "Sparse esneD product"
    assert row.purpose == "one\ntwo"
    assert row.reference == "<script>alert(1)</script>"


@pytest.mark.parametrize(
    "changes", [{"what": " \u200b "}, {"purpose": ""}, {"what": "x" * 201}, {"purpose": "x" * 4001}]
)
def test_what_cannot_be_kept(researcher: Account, changes: dict[str, str]) -> None:
    with pytest.raises(BadMessage):
        services.propose(researcher, **{**NEED, **changes})
    assert not Proposal.objects.exists()


def test_the_same_twice_is_one(researcher: Account, proposal: Proposal) -> None:
    assert services.propose(researcher, **NEED) == proposal


def test_limits(researcher: Account) -> None:
    for number in range(proposals.PROPOSED.most):
        services.propose(researcher, what=f"need {number}", purpose="x")
    with pytest.raises(RateLimited):
        services.propose(researcher, what="one more", purpose="x")


def test_not_too_many_wait(researcher: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MOST_OPEN", 1)
    services.propose(researcher, **NEED)
    with pytest.raises(BadMessage, match="wait for an answer"):
        services.propose(researcher, what="one more", purpose="x")


def test_a_suspended_account_proposes_nothing(researcher: Account) -> None:
    researcher.state = AccountState.SUSPENDED
    with pytest.raises(AccountSuspended):
        services.propose(researcher, **NEED)


# --- answers -------------------------------------------------------------------------------------
def test_the_answer_is_mailed_in_the_language_of_the_proposer(
    proposal: Proposal, researcher: Account, reviewer: Account
) -> None:
    speaks(researcher, "vi")
    services.answer_proposal(proposal, reviewer, PLANNED)
    mail = OutboxMail.objects.get(template="proposal_planned")
    assert (mail.account, mail.language) == (researcher, "vi")
    assert "đã vào kế hoạch" in mail.subject
    assert "Next spring." in mail.body
    assert "Sparse times dense" in mail.body
    services.answer_proposal(
        proposal, reviewer, Answer(ProposalState.BUILT, "Use spmm.", "Sparse", "Thưa")
    )
    assert "Use spmm." in OutboxMail.objects.get(template="proposal_built").body


def test_a_declined_one_says_why(proposal: Proposal, reviewer: Account) -> None:
    move = services.answer_proposal(proposal, reviewer, DECLINED)
    assert (move.from_state, move.to_state) == ("open", "declined")
    assert "One machine is faster." in OutboxMail.objects.get(template="proposal_declined").body
    assert services.answer_proposal(proposal, reviewer, PLANNED).from_state == "declined"


def test_bad_answers(proposal: Proposal, researcher: Account, reviewer: Account) -> None:
    with pytest.raises(NotAllowed):
        services.answer_proposal(proposal, researcher, PLANNED)
    for wrong in (
        Answer(ProposalState.DECLINED, " "),
        Answer(ProposalState.PLANNED, "Yes.", "Sparse products", ""),
        Answer(ProposalState.PLANNED, "Dear nguyen thi anh", "Sparse", "Thưa"),
        Answer(ProposalState.PLANNED, "Yes.", "As RESEARCHER@example.org wants", "Thưa"),
    ):
        with pytest.raises(BadMessage):
            services.answer_proposal(proposal, reviewer, wrong)
    with pytest.raises(Conflict):
        services.answer_proposal(proposal, reviewer, Answer(ProposalState.OPEN, "Again."))
    assert not ProposalMove.objects.exists()
    assert not OutboxMail.objects.exists()


def test_moves_are_fixed(proposal: Proposal, reviewer: Account) -> None:
    move = services.answer_proposal(proposal, reviewer, DECLINED)
    move.answer = "changed"
    with pytest.raises(HistoryIsFixed):
        move.save()
    with pytest.raises(HistoryIsFixed):
        move.delete()
    for statement in ("UPDATE {} SET answer = ''", "DELETE FROM {}"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement.format(ProposalMove._meta.db_table))


def test_an_erasure_leaves_the_titles_only(
    proposal: Proposal, researcher: Account, reviewer: Account
) -> None:
    services.answer_proposal(proposal, reviewer, PLANNED)
    waiting = services.propose(researcher, what="Ánh's other wish", purpose="x", reference="Ánh")
    erasure.erase(researcher)
    told = str(
        serializers.serialize("json", [*Proposal.objects.all(), *ProposalMove.objects.all()])
    )
    for trace in ("Ánh", "Heat in a rod", "Sparse times dense", "wish"):
        assert trace not in told
    assert [row.title("vi") for row in services.planned_proposals(9)] == ["Tích thưa"]
    waiting.refresh_from_db()
    assert waiting.state == ProposalState.WITHDRAWN
    assert waiting.erased is not None


# --- the page ------------------------------------------------------------------------------------
@pytest.fixture
def client(researcher: Account) -> Client:
    return logged_in(researcher)


def post(client: Client, **changes: Any) -> Any:
    return client.post("/proposals/", {**NEED, **changes})


def test_from_the_form_to_the_answer(client: Client, reviewer: Account) -> None:
    assert "None yet." in client.get("/proposals/").content.decode()
    assert post(client).status_code == 302
    assert "Sparse times dense" in client.get("/proposals/").content.decode()
    services.answer_proposal(Proposal.objects.get(), reviewer, PLANNED)
    page = client.get("/proposals/").content.decode()
    for told in ("planned", "Next spring.", "Sparse products", "Heat in a rod"):
        assert told in page


def test_a_visitor_logs_in_first() -> None:
    answer = Client().post("/proposals/", NEED)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")
    assert not Proposal.objects.exists()


def test_nobody_else_sees_it(proposal: Proposal) -> None:
    other = logged_in(accounts.create_account("other@example.org"))
    assert proposal.what not in other.get("/proposals/").content.decode()


def test_what_was_typed_is_kept(client: Client) -> None:
    answer = post(client, purpose="", what="Sparse <b>")
    assert answer.status_code == 422
    assert 'value="Sparse &lt;b&gt;"' in answer.content.decode()


@pytest.mark.parametrize(
    "changes",
    [{"what": "a\x00b"}, {"purpose": "x" * 4001}, {"what": "\u202e\u200b"}, {"size": "9" * 501}],
)
def test_hostile_texts_are_a_sentence(client: Client, changes: dict[str, str]) -> None:
    answer = post(client, **changes)
    assert answer.status_code in (400, 422)
    assert 'role="alert"' in answer.content.decode()
    assert not Proposal.objects.exists()


def test_too_many_are_a_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MOST_OPEN", 0)
    answer = post(client)
    assert answer.status_code == 400
    assert "wait for an answer" in answer.content.decode()


def test_the_page_costs_the_same_for_many(
    client: Client, researcher: Account, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        services.propose(researcher, what=f"need {number}", purpose="x")
    client.get("/proposals/")
    with django_assert_max_num_queries(8):
        client.get("/proposals/")


# --- taken back ----------------------------------------------------------------------------------
def withdraw(client: Client, row: Proposal) -> Any:
    return client.post(f"/proposals/{row.key}/withdraw/", follow=True)


def test_an_open_one_can_be_withdrawn(
    client: Client, proposal: Proposal, researcher: Account
) -> None:
    assert f"/proposals/{proposal.key}/withdraw/" in client.get("/proposals/").content.decode()
    for _ in range(2):  # the second click finds it done
        page = withdraw(client, proposal).content.decode()
        assert "withdrawn" in page
        assert f"/proposals/{proposal.key}/withdraw/" not in page
        assert "Nothing was changed" not in page
    move = ProposalMove.objects.get()
    assert (move.from_state, move.to_state, move.actor) == ("open", "withdrawn", researcher)
    assert not OutboxMail.objects.exists()
    assert services.propose(researcher, **NEED) != proposal, "the same may be proposed anew"


def test_an_answered_one_stays(client: Client, proposal: Proposal, reviewer: Account) -> None:
    services.answer_proposal(proposal, reviewer, PLANNED)
    assert (
        "Nothing was changed: the proposal is planned."
        in withdraw(client, proposal).content.decode()
    )
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.PLANNED


def test_only_one_s_own(proposal: Proposal) -> None:
    other = accounts.create_account("other@example.org")
    assert withdraw(logged_in(other), proposal).status_code == 404
    assert Client().post(f"/proposals/{proposal.key}/withdraw/")["Location"].startswith("/login/")
    with pytest.raises(NotAllowed):
        services.withdraw_proposal(proposal, other)
    assert not ProposalMove.objects.exists()


def test_its_address_opened_leads_to_the_list(client: Client, proposal: Proposal) -> None:
    answer = client.get(f"/proposals/{proposal.key}/withdraw/")
    assert answer["Location"] == "/proposals/"
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.OPEN
