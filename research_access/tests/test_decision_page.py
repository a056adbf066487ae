"""The page to decide on: what it shows, what its buttons do, undoing, and who may."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
import time_machine
from django.core import mail as sent
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from accounts.limits import Limit
from accounts.models import Account
from gpugoblin_site.mail import delivery
from gpugoblin_site.mail.models import MailState, OutboxMail
from gpugoblin_site.sentences import of_code
from research_access import services
from research_access.models import AccessRequest, Decision, Message, SavedReply
from research_access.tests.reviewing import (
    QUEUE,
    move_body,
    page_of,
    request_of,
    reviewer_called,
    seen_on,
)
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def lan(reviewer: Account) -> Account:
    return reviewer_called("lan@example.org", reviewer, "Lan Phương")


@pytest.fixture
def desk(lan: Account) -> Client:
    return client_of(lan)


@pytest.fixture
def minh(reviewer: Account) -> AccessRequest:
    """Of somebody who reads Vietnamese."""
    return request_of("minh@gmail.com", name="Minh Khai", language="vi", institution="HUST")


def decide(client: Client, row: AccessRequest, move: str, reason: str = "", **more: str) -> str:
    """Send the form of a move; the page that follows."""
    body = move_body(page_of(client, row), move, reason) | more
    answer = client.post(f"{QUEUE}{row.pk}/change/", body, follow=True)
    row.refresh_from_db()
    return html.unescape(answer.content.decode())


def test_everything_stands_on_it(desk: Client, reviewer: Account, minh: AccessRequest) -> None:
    request_of("other@hust.edu.vn", name="Someone Else", institution="hust")
    services.approve(minh, reviewer, daily_flops=2 * 10**15)
    services.create_lab(minh.account, "Quantum lab")
    page = page_of(desk, minh)
    for text in (
        *("Minh Khai", "HUST", "minh@gmail.com", minh.purpose, minh.size, minh.position),
        *("Products of large matrices", "reads Vietnamese", "Free mail address (gmail.com)"),
        *("Someone Else", "Quantum lab", "Approved, with 2.00\N{NO-BREAK SPACE}PFLOP a day."),
        *("Revoke the approval", "reviewer@example.org"),
    ):
        assert text in page, text
    for move in ("approve", "ask", "decline", "tell"):
        assert f'id="{move}"' not in page, "not possible in this state"


def test_earlier_requests_are_linked(desk: Client, reviewer: Account, minh: AccessRequest) -> None:
    services.decline(minh, reviewer, "No.")
    again = request_of("", account=minh.account, name="Minh Khai")
    assert f"{QUEUE}{minh.pk}/change/" in page_of(desk, again)


def test_approve_with_a_quota(desk: Client, minh: AccessRequest) -> None:
    assert 'name="approve-quota" value="1000"' in page_of(desk, minh), "the default, in PFLOP"
    page = decide(desk, minh, "approve", **{"approve-quota": "2.5"})
    assert minh.state == "approved"
    assert minh.decisions.latest("id").daily_flops == 25 * 10**14
    assert "You approved the request. The mail leaves in " in page


def test_what_was_asked_for_is_offered(desk: Client, reviewer: Account) -> None:
    row = request_of("ada@example.org")
    AccessRequest.objects.filter(pk=row.pk).update(daily_flops=10**9 + 1)
    assert 'value="0.000001000000001"' in page_of(desk, row)
    decide(desk, row, "approve", **{"approve-quota": "0.000001000000001"})
    assert row.decisions.latest("id").daily_flops == 10**9 + 1, "to the last operation"


@pytest.mark.parametrize("quota", ["", "-1", "0", "1e99", "NaN", "x", "9223.372036854775808"])
def test_no_quota(desk: Client, minh: AccessRequest, quota: str) -> None:
    page = decide(desk, minh, "approve", **{"approve-quota": quota})
    assert "Not sent yet" in page
    assert minh.state == "submitted"


@pytest.mark.parametrize(("move", "state"), [("ask", "info_asked"), ("decline", "declined")])
def test_a_reason_is_needed_and_told(
    desk: Client, minh: AccessRequest, lan: Account, move: str, state: str
) -> None:
    assert "Not sent yet" in decide(desk, minh, move, "  ")
    assert minh.state == "submitted"
    decide(desk, minh, move, "Lấy dữ liệu từ đâu?")
    assert minh.state == state
    last = minh.decisions.latest("id")
    assert (last.actor, last.reason) == (lan, "Lấy dữ liệu từ đâu?")
    waiting = OutboxMail.objects.get(key=f"decision:{last.pk}")
    assert "Lấy dữ liệu từ đâu?" in waiting.body
    assert waiting.language == "vi"


def test_revoke(desk: Client, reviewer: Account, minh: AccessRequest) -> None:
    services.approve(minh, reviewer)
    lab = services.create_lab(minh.account, "Lab")
    decide(desk, minh, "revoke", "Misuse.")
    lab.refresh_from_db()
    assert (minh.state, lab.state) == ("revoked", "suspended")
    assert "This request is closed." in page_of(desk, minh)


def test_a_message_decides_nothing(desk: Client, minh: AccessRequest, lan: Account) -> None:
    page = decide(desk, minh, "tell", "We read it tomorrow.")
    assert minh.state == "submitted"
    assert Message.objects.get().author == lan
    assert "We read it tomorrow." in page


def test_too_many_messages_are_told_in_the_reviewers_language(
    desk: Client, minh: AccessRequest, lan: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Limit("messages, one in a test", 1, timedelta(hours=1))
    monkeypatch.setattr("research_access.services.requests.MESSAGES", limit)
    lan.person.language = "vi"
    lan.person.save()
    decide(desk, minh, "tell", "Một.")
    page = decide(desk, minh, "tell", "Hai.")
    assert "Too many" not in page
    assert of_code_in_vietnamese("rate_limited") in page
    assert "Hai.</textarea>" in page


def of_code_in_vietnamese(code: str) -> str:
    with translation.override("vi"):
        return of_code(code)


def test_a_name_in_a_reason_is_refused_and_the_text_kept(desk: Client, minh: AccessRequest) -> None:
    page = decide(desk, minh, "decline", "Dear Minh Khai, no.")
    assert "no name" in page
    assert "Dear Minh Khai, no.</textarea>" in page
    assert minh.state == "submitted"


# --- saved replies and the preview --------------------------------------------------------------


@pytest.fixture
def reply() -> SavedReply:
    return SavedReply.objects.create(title="Data", text_en="Which data?", text_vi="Dữ liệu nào?")


def test_a_saved_reply_comes_in_the_applicants_language(
    desk: Client, minh: AccessRequest, reply: SavedReply
) -> None:
    ada = request_of("ada@example.org", institution="X")
    for row, text in ((minh, "Dữ liệu nào?"), (ada, "Which data?")):
        page = decide(desk, row, "ask", "", insert="1", reply=str(reply.pk))
        assert f"{text}</textarea>" in page
        assert "Not sent yet" not in page, "it was not sent on purpose"
        assert '<details class="move" name="move" id="ask" open>' in page
        page = decide(desk, row, "ask", "Hello.", insert="1", reply=str(reply.pk))
        assert f"Hello.\n\n{text}</textarea>" in page
        assert row.state == "submitted"


def test_no_such_reply(desk: Client, minh: AccessRequest) -> None:
    for reply in ("", "999999", "x", "9" * 40):
        assert "Kept.</textarea>" in decide(desk, minh, "ask", "Kept.", insert="1", reply=reply)


def test_the_preview_is_the_mail_in_the_applicants_language(
    desk: Client, minh: AccessRequest
) -> None:
    before = OutboxMail.objects.count()
    for move in ("ask", "decline", "approve", "tell"):
        page = decide(desk, minh, move, "Một câu.", preview="1")
        preview = page[page.index('class="preview"') :].partition("</section>")[0]
        assert "Một câu." in preview, move
        assert '<div lang="vi">' in preview
        assert "The mail, in Vietnamese" in preview
        assert "Một câu.</textarea>" in page, "the text is kept"
    assert minh.state == "submitted"
    assert OutboxMail.objects.count() == before
    seen = text_of(preview_of(desk, minh, "decline", "Một câu."))
    decide(desk, minh, "decline", "Một câu.")
    mail = OutboxMail.objects.get(key=f"decision:{minh.decisions.latest('id').pk}")
    assert words(mail.subject) in seen
    assert words(mail.body) in seen


def preview_of(client: Client, row: AccessRequest, move: str, reason: str) -> str:
    page = decide(client, row, move, reason, preview="1")
    return page[page.index('class="preview"') :].partition("</section>")[0]


def text_of(markup: str) -> str:
    return words(re.sub(r"<[^>]+>", " ", markup))


def words(text: str) -> str:
    return " ".join(text.split())


# --- undoing ------------------------------------------------------------------------------------


def live(client: Client, row: AccessRequest, shown: str = "") -> str:
    answer = client.post(f"{QUEUE}{row.pk}/beat/", {"shown": shown})
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_undo_within_two_minutes(desk: Client, minh: AccessRequest) -> None:
    decide(desk, minh, "decline", "No.")
    decision = minh.decisions.latest("id")
    part = live(desk, minh)
    assert "You declined the request. The mail leaves in " in part
    assert f'name="undo" value="{decision.pk}"' in part
    delivery.deliver_due()
    page = desk.post(f"{QUEUE}{minh.pk}/change/", {"undo": str(decision.pk)}, follow=True)
    minh.refresh_from_db()
    assert minh.state == "submitted"
    assert "Took the decision back" in page.content.decode()
    assert OutboxMail.objects.get(key=f"decision:{decision.pk}").state == MailState.CANCELLED
    assert minh.decisions.count() == 3, "the history only grows"
    assert 'name="undo"' not in live(desk, minh)


def test_after_two_minutes_it_says_that_the_mail_left(desk: Client, minh: AccessRequest) -> None:
    decide(desk, minh, "decline", "No.")
    decision = minh.decisions.latest("id")
    with time_machine.travel(timezone.now() + timedelta(minutes=2, seconds=1)):
        part = live(desk, minh)
        assert "on its way" in part
        assert 'name="undo"' not in part
        delivery.deliver_due()
        part = live(desk, minh)
        assert "The mail left " in part
        assert "can't be undone" in part
        answer = desk.post(f"{QUEUE}{minh.pk}/change/", {"undo": str(decision.pk)})
        assert answer.status_code == 409
        assert "too late" in answer.content.decode()
    minh.refresh_from_db()
    assert minh.state == "declined"
    assert [mail.to for mail in sent.outbox if "No." in mail.body] == [["minh@gmail.com"]]


def test_a_mail_that_did_not_arrive_is_told(desk: Client, minh: AccessRequest) -> None:
    decide(desk, minh, "decline", "No.")
    OutboxMail.objects.update(state=MailState.BOUNCED, code="refused")
    assert "The mail did not arrive" in live(desk, minh)


def test_nobody_undoes_for_a_colleague(
    desk: Client, reviewer: Account, minh: AccessRequest
) -> None:
    decision = services.decline(minh, reviewer, "No.")
    part = live(desk, minh)
    assert "reviewer@example.org declined the request." in part
    assert 'name="undo"' not in part
    assert desk.post(f"{QUEUE}{minh.pk}/change/", {"undo": str(decision.pk)}).status_code == 403
    for number in ("0", "x", "9" * 40, str(decision.pk + 1)):
        assert desk.post(f"{QUEUE}{minh.pk}/change/", {"undo": number}).status_code == 404


# --- who looks, and who decided meanwhile -------------------------------------------------------


def test_who_else_looks(desk: Client, reviewer: Account, minh: AccessRequest) -> None:
    page_of(client_of(reviewer), minh)
    assert "reviewer@example.org</bdi> has this request open too" in page_of(desk, minh)
    assert "Lan Phương</bdi> has this request open too" in live(client_of(reviewer), minh)


def test_an_open_page_notices_a_decision(
    desk: Client, reviewer: Account, minh: AccessRequest
) -> None:
    shown = seen_on(page_of(desk, minh), "ask")
    part = live(desk, minh, shown)
    assert "Something happened" not in part
    assert "hx-trigger" in part
    services.ask_info(minh, reviewer, "Which data?")
    part = live(desk, minh, shown)
    assert "Something happened" in part
    assert "hx-trigger" not in part, "it is said once"


def test_the_second_reads_what_the_first_decided(
    desk: Client, reviewer: Account, minh: AccessRequest
) -> None:
    body = move_body(page_of(desk, minh), "approve")
    services.decline(minh, reviewer, "Looks commercial.")
    answer = desk.post(f"{QUEUE}{minh.pk}/change/", body | {"approve-reason": "Welcome!"})
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "meanwhile declined, by reviewer@example.org. Looks commercial." in page
    assert "Welcome!" in page, "what was written is not lost"
    minh.refresh_from_db()
    assert minh.state == "declined"


def test_an_answer_that_came_meanwhile_is_read_first(
    desk: Client, reviewer: Account, minh: AccessRequest
) -> None:
    """The state is the same again, and yet it is not what the reviewer read."""
    body = move_body(page_of(desk, minh), "decline", "No data named.")
    services.ask_info(minh, reviewer, "Which data?")
    services.reply(minh, minh.account, "Our own simulations.")
    answer = desk.post(f"{QUEUE}{minh.pk}/change/", body)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "Our own simulations." in page
    again = body | {"decline-seen": seen_on(page, "decline")}
    assert desk.post(f"{QUEUE}{minh.pk}/change/", again).status_code == 302
    minh.refresh_from_db()
    assert minh.state == "declined"


def test_a_form_sent_twice_decides_once(desk: Client, minh: AccessRequest) -> None:
    body = move_body(page_of(desk, minh), "decline", "No.")
    assert desk.post(f"{QUEUE}{minh.pk}/change/", body).status_code == 302
    assert desk.post(f"{QUEUE}{minh.pk}/change/", body).status_code == 409
    assert Decision.objects.filter(to_state="declined").count() == 1
    assert OutboxMail.objects.filter(template="access_declined").count() == 1


# --- who may ------------------------------------------------------------------------------------


def test_nobody_decides_on_their_own(desk: Client, lan: Account, reviewer: Account) -> None:
    own = request_of("", account=lan)
    page = page_of(desk, own)
    assert "This is your own request" in page
    assert 'name="move"' not in page
    seen = str(own.decisions.latest("id").pk)
    body = {"move": "approve", "approve-seen": seen, "approve-quota": "1"}
    answer = desk.post(f"{QUEUE}{own.pk}/change/", body)
    assert answer.status_code == 403
    assert "of their own" in answer.content.decode()
    own.refresh_from_db()
    assert own.state == "submitted"


def test_a_deleted_account(desk: Client, minh: AccessRequest) -> None:
    from accounts.models import Person

    Person.objects.filter(account=minh.account).delete()
    page = page_of(desk, minh)
    assert "a deleted account" in page
    assert "mailto:" not in page


def test_bad_input(desk: Client, minh: AccessRequest) -> None:
    for number in ("999999", "x", "9" * 40, "-1"):
        assert desk.get(f"{QUEUE}{number}/change/").status_code == 404
    path = f"{QUEUE}{minh.pk}/change/"
    for body in ({}, {"move": "nonsense"}, {"move": "approve", "approve-seen": "x"}):
        assert desk.post(path, body).status_code in (200, 422)
    assert desk.post(path, {"move": "ask", "ask-reason": "x" * 4001}).status_code == 422
    marked = {"move": "ask", "ask-reason": "\u202eabc\x00"}
    assert desk.post(path, marked).status_code in (302, 422)
    page = decide(desk, request_of("y@example.org"), "ask", "<script>alert(1)</script>")
    assert "&lt;script&gt;" in html.escape(page)


def test_the_queries_are_bounded(desk: Client, reviewer: Account, minh: AccessRequest) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as asked:
            page_of(desk, minh)
        return len(asked)

    page_of(desk, minh)
    before = cost()
    for number in range(5):
        services.ask_info(minh, reviewer, f"{number}?")
        services.reply(minh, minh.account, f"{number}.")
        request_of(f"{number}@gmail.com", institution="HUST")
    assert cost() == before
    assert before <= 12


def test_no_inline_style_or_script(desk: Client, minh: AccessRequest) -> None:
    pages = [page_of(desk, minh)]
    pages += [desk.get(path).content.decode() for path in (QUEUE, "/admin/")]
    for page in pages:
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert not re.search(r"<script(?![^>]*\ssrc=)", page)
