"""One decision on several requests: one reason, and each refusal told by itself."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from accounts.models import Account
from gpugoblin_site.mail.models import OutboxMail
from research_access import services
from research_access.admin import bulk
from research_access.models import AccessRequest, SavedReply
from research_access.tests.reviewing import QUEUE, request_of, reviewer_called
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(reviewer: Account) -> Client:
    return client_of(reviewer_called("lan@example.org", reviewer, "Lan Phương"))


@pytest.fixture
def three() -> list[AccessRequest]:
    return [
        request_of(f"p{number}@example.org", name=f"Person {number}", language=language)
        for number, language in enumerate(("en", "vi", "en"))
    ]


def chosen(client: Client, action: str, rows: list[AccessRequest]) -> str:
    """The page that asks for the reason."""
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return client.post(QUEUE, body, follow=True).content.decode()


def sent(client: Client, page: str, **more: str) -> str:
    """What follows when its form is sent."""
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return html.unescape(client.post(QUEUE, hidden | more, follow=True).content.decode())


def states() -> list[str]:
    return list(AccessRequest.objects.order_by("id").values_list("state", flat=True))


def test_one_reason_for_all(desk: Client, three: list[AccessRequest]) -> None:
    page = chosen(desk, "decline_all", three)
    assert all(row.name in page for row in three)
    assert states() == ["submitted"] * 3, "choosing decides nothing"
    page = sent(desk, page, **{"decline-reason": "Not research."})
    assert "3 requests decided." in page
    assert states() == ["declined"] * 3
    assert [row.decisions.latest("id").reason for row in three] == ["Not research."] * 3
    assert OutboxMail.objects.filter(template="access_declined").count() == 3


def test_a_text_is_needed(desk: Client, three: list[AccessRequest]) -> None:
    page = sent(desk, chosen(desk, "ask_all", three), **{"ask-reason": "  "})
    assert "Write a text or choose a saved reply." in page
    assert states() == ["submitted"] * 3
    sent(desk, page, **{"ask-reason": "Which data?"})
    assert states() == ["info_asked"] * 3


def test_a_saved_reply_reaches_each_in_their_language(
    desk: Client, three: list[AccessRequest]
) -> None:
    reply = SavedReply.objects.create(title="Data", text_en="Which data?", text_vi="Dữ liệu nào?")
    page = chosen(desk, "ask_all", three)
    sent(desk, page, **{"ask-reply": str(reply.pk), "ask-reason": "Thanks."})
    assert [row.decisions.latest("id").reason for row in three] == [
        "Which data?\n\nThanks.",
        "Dữ liệu nào?\n\nThanks.",
        "Which data?\n\nThanks.",
    ]


def test_what_a_colleague_decided_meanwhile_is_told_one_by_one(
    desk: Client, reviewer: Account, three: list[AccessRequest]
) -> None:
    page = chosen(desk, "decline_all", three)
    services.approve(three[0], reviewer, reason="Good.")
    services.ask_info(three[2], reviewer, "Which data?")
    page = sent(desk, page, **{"decline-reason": "No."})
    assert states() == ["approved", "declined", "info_asked"]
    assert "Person 0, Example Institute: Nothing was changed: the request is meanwhile" in page
    assert "Person 2, Example Institute: Nothing was changed: the request is meanwhile" in page
    assert "by reviewer@example.org. Good." in page
    assert "1 request decided." in page


def test_an_answer_that_came_meanwhile_counts_too(
    desk: Client, reviewer: Account, three: list[AccessRequest]
) -> None:
    page = chosen(desk, "decline_all", three[:1])
    services.ask_info(three[0], reviewer, "Which data?")
    services.reply(three[0], three[0].account, "Our own.")
    assert "Nothing was changed" in sent(desk, page, **{"decline-reason": "No."})
    assert states()[0] == "submitted"


def test_approval_takes_what_was_asked_for_or_one_quota(
    desk: Client, three: list[AccessRequest]
) -> None:
    AccessRequest.objects.filter(pk=three[0].pk).update(daily_flops=10**9)
    sent(desk, chosen(desk, "approve_all", three[:2]), **{"approve-quota": ""})
    sent(desk, chosen(desk, "approve_all", three[2:]), **{"approve-quota": "2"})
    assert [row.decisions.latest("id").daily_flops for row in three] == [
        10**9,
        services.DEFAULT_DAILY_FLOPS,
        2 * 10**15,
    ]


def test_revocation_of_what_is_approved_only(
    desk: Client, reviewer: Account, three: list[AccessRequest]
) -> None:
    services.approve(three[0], reviewer)
    listed = f"{QUEUE}?state=all"
    body = {"action": "revoke_all", "_selected_action": [str(row.pk) for row in three]}
    page = desk.post(listed, body).content.decode()
    assert html.unescape(page).count("this can't be done with it") == 2
    page = sent(desk, page, **{"revoke-reason": "Misuse."})
    assert states() == ["revoked", "submitted", "submitted"]


def test_ones_own_request_is_left_to_colleagues(reviewer: Account) -> None:
    own = request_of("", account=reviewer)
    other = request_of("ada@example.org")
    client = client_of(reviewer)
    page = sent(client, chosen(client, "approve_all", [own, other]))
    assert "Nobody decides on a request of their own." in page
    assert states() == ["submitted", "approved"]


def test_so_many_at_once(
    desk: Client, three: list[AccessRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MOST", 2)
    assert "At most 2 at once" in chosen(desk, "decline_all", three)
    assert states() == ["submitted"] * 3


@pytest.mark.parametrize("rows", ["", "x", "1:", ":1", "1:2:3", "9" * 40 + ":1", "-1:1", "0:0"])
def test_bad_rows(desk: Client, three: list[AccessRequest], rows: str) -> None:
    page = chosen(desk, "decline_all", three)
    sent(desk, page, rows=rows, **{"decline-reason": "No."})
    assert states() == ["submitted"] * 3
