"""What applicants do: one open request, a kept draft, sending, talking, withdrawing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import translation

from accounts import services as accounts
from accounts.models import Account
from goblin_wire.problems import AccountSuspended, BadMessage, Conflict, NotAllowed, RateLimited
from goblin_wire.states import RequestState
from gpugoblin_site.mail.models import OutboxMail
from research_access import services
from research_access.models import AccessRequest
from research_access.tests.conftest import speaks

pytestmark = pytest.mark.django_db


def mails(template: str) -> list[OutboxMail]:
    return list(OutboxMail.objects.filter(template=template))


def test_a_draft_begins_with_the_name_of_the_account(researcher: Account) -> None:
    begun = services.draft(researcher)
    assert (begun.name, begun.state) == ("Nguyễn Thị Ánh", RequestState.DRAFT)
    assert services.draft(researcher) == begun, "there is one draft"


def test_one_open_request(submitted: AccessRequest, researcher: Account) -> None:
    with pytest.raises(Conflict, match="one at a time"):
        services.draft(researcher)
    with pytest.raises(IntegrityError), transaction.atomic():
        AccessRequest.objects.create(account=researcher, state="info_asked")
    services.withdraw(submitted, researcher)
    assert services.draft(researcher) != submitted


@pytest.mark.django_db(transaction=True)
def test_drafts_begun_at_once_are_one(researcher: Account) -> None:
    barrier = threading.Barrier(4)
    found: list[int] = []

    def begin() -> None:
        barrier.wait(timeout=10)
        found.append(services.draft(researcher).pk)
        connection.close()

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_incomplete_answers_are_kept_and_not_sent(researcher: Account) -> None:
    begun = services.draft(researcher)
    services.save_draft(begun, researcher, purpose="half a sen")
    begun.refresh_from_db()
    assert begun.purpose == "half a sen"
    with pytest.raises(BadMessage, match="institution"):
        services.submit_request(begun, researcher)
    begun.refresh_from_db()
    assert begun.state == RequestState.DRAFT


def test_two_tabs(draft: AccessRequest, researcher: Account) -> None:
    first = services.save_draft(draft, researcher, version=draft.version, size="small")
    assert first.version == draft.version + 1
    with pytest.raises(Conflict, match="another window"):
        services.save_draft(draft, researcher, version=draft.version, size="large")
    again = services.save_draft(draft, researcher, version=first.version, size="small")
    assert again.version == first.version, "nothing changed"
    assert AccessRequest.objects.get().size == "small"


def test_submission(draft: AccessRequest, researcher: Account) -> None:
    speaks(researcher, "vi")
    sent = services.submit_request(draft, researcher)
    assert sent.submitted is not None
    decision = sent.decisions.get()
    assert (decision.from_state, decision.to_state) == ("draft", "submitted")
    mail = mails("access_submitted")[0]
    assert (mail.key, mail.language) == (f"decision:{decision.pk}", "vi")
    assert str(sent.key) in mail.body
    with pytest.raises(Conflict, match="submitted"):
        services.submit_request(draft, researcher)
    assert len(mails("access_submitted")) == 1


@pytest.mark.parametrize(
    "missing",
    [
        {"name": " "},
        {"position": ""},
        {"size": ""},
        {"kinds": []},
        {"no_confidential": False},
        {"noncommercial": None},
        {"web_page": "javascript:alert(1)"},
    ],
)
def test_what_is_needed(draft: AccessRequest, researcher: Account, missing: Any) -> None:
    services.save_draft(draft, researcher, **missing)
    with pytest.raises(BadMessage):
        services.submit_request(draft, researcher)


def test_commercial_use(draft: AccessRequest, researcher: Account) -> None:
    services.save_draft(draft, researcher, noncommercial=False)
    with pytest.raises(NotAllowed, match="contact@"):
        services.submit_request(draft, researcher)
    assert not mails("access_submitted")


@pytest.mark.parametrize(
    "answers",
    [
        {"state": "approved"},
        {"name": "n" * 201},
        {"purpose": "p" * 10_001},
        {"kinds": ["mining"]},
        {"daily_flops": -1},
        {"daily_flops": 2**63},
    ],
)
def test_what_can_not_be_kept(draft: AccessRequest, researcher: Account, answers: Any) -> None:
    with pytest.raises(BadMessage):
        services.save_draft(draft, researcher, **answers)


def test_names_are_cleaned(draft: AccessRequest, researcher: Account) -> None:
    saved = services.save_draft(
        draft,
        researcher,
        name=" A\u0301nh\u202e \x00 Đặng\n 👩‍🔬 ",
        institution="<script>alert(1)</script>",
        purpose="one\r\ntwo\u202e\x07\tthree\n",
    )
    assert saved.name == "Ánh Đặng 👩‍🔬"
    assert saved.institution == "<script>alert(1)</script>", "escaped where it is shown"
    assert saved.purpose == "one\ntwo three"
    saved.refresh_from_db()
    assert saved.search.split("\n")[0].startswith("anh dang")


def test_only_ones_own(draft: AccessRequest, reviewer: Account) -> None:
    for move in (
        services.submit_request,
        services.withdraw,
        services.save_draft,
        services.apply_again,
    ):
        with pytest.raises(NotAllowed):
            move(draft, reviewer)
    with pytest.raises(NotAllowed):
        services.reply(draft, reviewer, "text")


def test_what_was_sent_stays(submitted: AccessRequest, researcher: Account) -> None:
    with pytest.raises(NotAllowed, match="asked"):
        services.save_draft(submitted, researcher, purpose="Other.")


def test_suspended(draft: AccessRequest, researcher: Account) -> None:
    accounts.suspend(researcher)
    with pytest.raises(AccountSuspended):
        services.submit_request(draft, researcher)
    with pytest.raises(AccountSuspended):
        services.draft(researcher)


def test_conversation(submitted: AccessRequest, researcher: Account, reviewer: Account) -> None:
    services.reply(submitted, researcher, "One thing more.")
    services.tell(submitted, reviewer, "Noted.")
    assert "Noted." in mails("access_message")[0].body
    services.ask_info(submitted, reviewer, "Which data?")
    services.save_draft(submitted, researcher, size="20 products")
    services.reply(submitted, researcher, " Public data.\r\n")
    submitted.refresh_from_db()
    assert submitted.state == RequestState.SUBMITTED
    said = list(submitted.messages.order_by("id").values_list("author", "text"))
    assert said == [
        (researcher.pk, "One thing more."),
        (reviewer.pk, "Noted."),
        (researcher.pk, "Public data."),
    ]
    with pytest.raises(NotAllowed):
        services.tell(submitted, researcher, "As a reviewer.")


@pytest.mark.parametrize("text", ["", " \n", "\u202e", "x" * 4001])
def test_messages_that_are_none(submitted: AccessRequest, researcher: Account, text: str) -> None:
    with pytest.raises(BadMessage):
        services.reply(submitted, researcher, text)


def test_no_messages_once_it_is_decided(
    approved: AccessRequest, researcher: Account, reviewer: Account
) -> None:
    with pytest.raises(Conflict, match="contact@"):
        services.reply(approved, researcher, "Hello?")
    with pytest.raises(Conflict):
        services.tell(approved, reviewer, "Hello?")


def test_withdrawal(submitted: AccessRequest, researcher: Account) -> None:
    services.withdraw(submitted, researcher)
    assert len(mails("access_withdrawn")) == 1
    with pytest.raises(Conflict, match="withdrawn"):
        services.withdraw(submitted, researcher)


def test_drafts_are_not_begun_for_ever(researcher: Account) -> None:
    for _ in range(30):
        services.withdraw(services.draft(researcher), researcher)
    assert not OutboxMail.objects.exists(), "of drafts that were thrown away"
    with pytest.raises(RateLimited):
        services.draft(researcher)


def test_apply_again(submitted: AccessRequest, researcher: Account, reviewer: Account) -> None:
    with pytest.raises(Conflict):
        services.apply_again(submitted, researcher)
    services.decline(submitted, reviewer, "Too vague.")
    submitted.refresh_from_db()
    second = services.apply_again(submitted, researcher)
    assert (second.purpose, second.kinds) == ("Folding.", ["products"])
    assert not second.no_confidential, "confirmed anew"
    assert second.noncommercial is None
    services.save_draft(second, researcher, purpose="Folding of public data.")
    assert services.apply_again(submitted, researcher) == second, "sent twice"
    second.refresh_from_db()
    assert second.purpose == "Folding of public data."
    submitted.refresh_from_db()
    assert submitted.state == RequestState.DECLINED


def test_sentences_in_the_readers_language(submitted: AccessRequest, researcher: Account) -> None:
    with translation.override("vi"), pytest.raises(Conflict) as refused:
        services.draft(researcher)
    assert "yêu cầu" in refused.value.detail
