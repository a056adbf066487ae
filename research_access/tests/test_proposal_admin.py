"""Proposals in the admin: read, answered, moved, refused with a sentence."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from accounts.models import Account
from gpugoblin_site.mail.models import OutboxMail
from research_access import services
from research_access.models import Proposal, ProposalMove
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db
LIST = "/admin/research_access/proposal/"
ANSWER = {
    "to": "planned",
    "title_en": "Sparse products",
    "title_vi": "Tích thưa",
    "answer": "Next spring.",
}


@pytest.fixture
def proposal(researcher: Account) -> Proposal:
    return services.propose(
        researcher, what="Sparse <b>times</b> dense", purpose="one\ntwo", reference="javascript:x"
    )


@pytest.fixture
def desk(reviewer: Account) -> Client:
    return client_of(reviewer)


def page_of(desk: Client, row: Proposal) -> str:
    answer = desk.get(f"{LIST}{row.pk}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def send(desk: Client, row: Proposal, **changes: str) -> tuple[int, str]:
    answer = desk.post(f"{LIST}{row.pk}/change/", ANSWER | changes)
    return answer.status_code, html.unescape(answer.content.decode())


def test_what_a_reviewer_reads(desk: Client, proposal: Proposal) -> None:
    assert "Sparse &lt;b&gt;times&lt;/b&gt; dense" in desk.get(LIST).content.decode()
    page = page_of(desk, proposal)
    assert "Sparse &lt;b&gt;times&lt;/b&gt; dense" in page
    assert "one<br>two<br>" in page
    assert "Nguyễn Thị Ánh" in page
    assert 'href="javascript' not in page
    assert 'value="open"' not in page


def test_an_answer_moves_and_mails(desk: Client, proposal: Proposal) -> None:
    assert send(desk, proposal)[0] == 302
    proposal.refresh_from_db()
    assert (proposal.state, proposal.title_en) == ("planned", "Sparse products")
    assert "Next spring." in OutboxMail.objects.get().body
    page = page_of(desk, proposal)
    assert "Next spring." in page
    assert 'value="built"' in page
    assert send(desk, proposal, to="built", answer="It is there.")[0] == 302
    assert ProposalMove.objects.count() == 2
    assert "csrfmiddlewaretoken" in page
    assert 'name="to"' not in page_of(desk, proposal)  # finished


def test_what_is_refused_keeps_nothing(desk: Client, proposal: Proposal) -> None:
    for changes, sentence in (
        ({"title_vi": ""}, "in both languages"),
        ({"answer": ""}, "required"),
        ({"answer": "Dear Nguyễn Thị Ánh"}, "may hold no name"),
        ({"to": "open"}, "not one of the available choices"),
        ({"to": "nonsense"}, "not one of the available choices"),
        ({"title_en": "x" * 201}, "at most 200 characters"),
    ):
        status, page = send(desk, proposal, **changes)
        assert status == 200
        assert sentence in page
    assert not ProposalMove.objects.exists()
    proposal.refresh_from_db()
    assert (proposal.state, proposal.title_en) == ("open", "")


def test_two_reviewers(desk: Client, proposal: Proposal) -> None:
    assert send(desk, proposal, to="built")[0] == 302
    told = desk.post(f"{LIST}{proposal.pk}/change/", ANSWER | {"to": "declined"}, follow=True)
    assert "Nothing was changed: the proposal is built." in told.content.decode()
    assert ProposalMove.objects.count() == 1


def test_a_reviewer_reads_that_it_was_withdrawn(desk: Client, proposal: Proposal) -> None:
    services.withdraw_proposal(proposal, proposal.account)
    told = desk.post(f"{LIST}{proposal.pk}/change/", ANSWER, follow=True).content.decode()
    assert "Nothing was changed: the proposal is withdrawn." in told
    assert "Nguyễn Thị Ánh</bdi>: withdrawn<br>" in told
    assert 'name="to"' not in told
    assert not OutboxMail.objects.exists()


def test_the_door_says_how_many_wait(desk: Client, proposal: Proposal) -> None:
    assert "1 proposal waits for an answer." in desk.get("/admin/").content.decode()
    send(desk, proposal)
    assert "No proposal waits for an answer." in desk.get("/admin/").content.decode()
