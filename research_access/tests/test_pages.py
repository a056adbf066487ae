"""The pages of requests: a draft that is kept, one that is sent, what came of it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts import services as accounts
from accounts.models import Account
from research_access import services
from research_access.models import AccessRequest
from research_access.pages.local_code import LOCAL

pytestmark = pytest.mark.django_db

ANSWERS = {
    "name": "Nguyễn Thị Ánh",
    "institution": "Đại học Bách khoa Hà Nội",
    "position": "Nghiên cứu sinh",
    "web_page": "example.org/anh",
    "field": "Hoá tin học",
    "purpose": "Similarities of molecules.",
    "kinds": ["products"],
    "size": "20 products of 100,000 by 100,000",
    "daily_pflop": "2.5",
    "noncommercial": "yes",
    "no_confidential": "on",
}


def logged_in(account: Account) -> Client:
    client = Client()
    client.force_login(account)
    return client


@pytest.fixture
def client(researcher: Account) -> Client:
    return logged_in(researcher)


def address(row: AccessRequest, what: str = "") -> str:
    return f"/access/{row.key}/{what}"


def begun(client: Client) -> AccessRequest:
    client.post("/access/new/")
    return AccessRequest.objects.get(state="draft")


def post(client: Client, row: AccessRequest, act: str, **changes: Any) -> Any:
    data = {**ANSWERS, "version": str(row.version), "action": act, **changes}
    return client.post(address(row), {name: v for name, v in data.items() if v is not None})


def test_from_nothing_to_sent(client: Client) -> None:
    assert "not asked for access yet" in client.get("/access/").content.decode()
    page = client.get("/access/new/").content.decode()
    assert "no figure yet" in page
    assert "No confidential data" in page
    row = begun(client)
    assert "Begin" not in client.get("/access/new/", follow=True).content.decode()
    form = client.get(address(row)).content.decode()
    assert 'value="Nguyễn Thị Ánh"' in form
    answer = post(client, row, "submit")
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.state, row.daily_flops) == ("submitted", 25 * 10**14)
    assert row.web_page == "https://example.org/anh"
    page = client.get(address(row)).content.decode()
    assert "The request was sent." in page
    assert "Similarities of molecules." in page
    assert "gpugoblin.local" in page


def test_save_draft_without_script(client: Client) -> None:
    row = begun(client)
    answer = post(client, row, "save", purpose="half", institution="", noncommercial=None)
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.purpose, row.state, row.noncommercial) == ("half", "draft", None)
    assert "half" in client.get(address(row)).content.decode()


def test_saved_while_typing(client: Client) -> None:
    row = begun(client)
    body = {"purpose": "typed", "name": "x" * 201, "version": "0"}
    page = client.post(address(row, "draft/"), body).content.decode()
    assert "Draft saved at" in page
    assert 'name="version" value="1"' in page
    assert "Name" in page, "what was not saved is said"
    row.refresh_from_db()
    assert (row.purpose, row.name) == ("typed", "Nguyễn Thị Ánh")


def test_logged_out_while_typing(client: Client) -> None:
    row = begun(client)
    client.logout()
    body = {"purpose": "typed", "version": "0"}
    page = client.post(address(row, "draft/"), body, headers={"HX-Request": "true"})
    assert page.status_code == 200
    assert "you are logged out" in page.content.decode()
    assert "<html" not in page.content.decode()
    assert 'name="version" value="0"' in page.content.decode()
    row.refresh_from_db()
    assert row.purpose == ""


def test_a_draft_with_a_mistake_calls_nothing_optional(client: Client) -> None:
    row = begun(client)
    answer = post(client, row, "save", name="n" * 201)
    assert answer.status_code == 422
    assert answer.content.decode().count("(optional)") == 2


def test_two_tabs(client: Client) -> None:
    row = begun(client)
    client.post(address(row, "draft/"), {"purpose": "first tab", "version": "0"})
    page = client.post(address(row, "draft/"), {"purpose": "second tab", "version": "0"})
    assert "another window" in page.content.decode()
    answer = post(client, row, "save", purpose="second tab")
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "second tab" in page, "nothing that was typed is lost"
    row.refresh_from_db()
    assert row.purpose == "first tab"
    assert f'name="version" value="{row.version}"' in page
    post(client, row, "save", purpose="second tab")
    row.refresh_from_db()
    assert row.purpose == "second tab", "pressed again, on purpose"


def test_sent_twice(client: Client) -> None:
    row = begun(client)
    for _ in range(2):
        answer = post(client, row, "submit", follow=None)
        assert answer.status_code == 302
        assert answer["Location"] == address(row)
    assert AccessRequest.objects.get().decisions.count() == 1
    client.post("/access/new/")
    assert AccessRequest.objects.count() == 1


def test_commercial(client: Client) -> None:
    row = begun(client)
    answer = post(client, row, "submit", noncommercial="no")
    assert answer.status_code == 422
    assert "this request can&#x27;t be sent" in answer.content.decode()
    row.refresh_from_db()
    assert row.state == "draft"
    assert row.purpose == ANSWERS["purpose"], "kept all the same"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"kinds": None},
        {"kinds": "mining"},
        {"no_confidential": None},
        {"noncommercial": "perhaps"},
        {"daily_pflop": "NaN"},
        {"daily_pflop": "1e9"},
        {"web_page": "javascript:alert(1)"},
        {"purpose": "p" * 10_001},
        {"name": "a\x00b"},
    ],
)
def test_what_does_not_fit(client: Client, changes: Any) -> None:
    row = begun(client)
    answer = post(client, row, "submit", **changes)
    assert answer.status_code in (400, 422)
    assert 'role="alert"' in answer.content.decode()
    row.refresh_from_db()
    assert row.state == "draft"
    assert row.institution == ANSWERS["institution"], "what fits is kept"


def test_a_file_instead_of_a_text(client: Client) -> None:
    row = begun(client)
    post(client, row, "save")
    row.refresh_from_db()
    file = SimpleUploadedFile("purpose.txt", b"\xff\xfe\x00" * 50)
    answer = post(client, row, "submit", purpose=file)
    assert answer.status_code == 422
    assert ANSWERS["purpose"] in answer.content.decode()
    row.refresh_from_db()
    assert row.purpose == ANSWERS["purpose"]
    raw = client.post(address(row, "draft/"), io.BytesIO(b"\xff" * 99).read(), content_type="x/y")
    assert raw.status_code == 200
    row.refresh_from_db()
    assert row.kinds == ["products"]


HOSTILE = "<img src=x onerror=alert(1)>\u202e{{ 7|add:7 }} 👩‍🔬"


def test_hostile_texts_are_shown_as_texts(client: Client, reviewer: Account) -> None:
    row = begun(client)
    texts = dict.fromkeys(("name", "institution", "position", "field", "purpose"), HOSTILE)
    assert post(client, row, "submit", **texts).status_code == 302
    client.post(address(row, "message/"), {"text": HOSTILE})
    services.decline(row, reviewer, "<b>No</b>")
    page = client.get(address(row)).content.decode()
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;{{ 7|add:7 }} 👩‍🔬" in page
    assert "\u202e" not in page
    assert "&lt;b&gt;No&lt;/b&gt;" in page
    assert "<img src=x" not in client.get("/access/").content.decode()


def test_decomposed_input_equals_composed(client: Client) -> None:
    row = begun(client)
    post(client, row, "save", name="A\u0301nh", purpose="Tie\u0302\u0301ng Vie\u0323\u0302t")
    row.refresh_from_db()
    assert (row.name, row.purpose) == ("Ánh", "Tiếng Việt")
    post(client, row, "save", name="a\u0302\u0301" * 200)
    row.refresh_from_db()
    assert row.name == "ấ" * 200, "marks that come apart are not counted"


def test_question_and_answer(client: Client, submitted: AccessRequest, reviewer: Account) -> None:
    services.ask_info(submitted, reviewer, "Which data?")
    page = client.get(address(submitted)).content.decode()
    assert "Which data?" in page
    assert "A reviewer" in page
    assert "reviewer@example.org" not in page
    form = client.get(address(submitted, "?edit")).content.decode()
    assert "Send it back" in form
    empty = client.post(address(submitted, "message/"), {"text": " "})
    assert empty.status_code == 422
    client.post(address(submitted, "message/"), {"text": "Public data."})
    submitted.refresh_from_db()
    assert submitted.state == "submitted"
    page = client.get(address(submitted)).content.decode()
    assert "Public data." in page
    assert "The question was answered." in page


def test_a_message_too_late_is_not_lost(
    client: Client, submitted: AccessRequest, reviewer: Account
) -> None:
    services.decline(submitted, reviewer, "no")
    answer = client.post(address(submitted, "message/"), {"text": "One more thing"})
    assert answer.status_code == 409
    assert "contact@gpugoblin.com" in answer.content.decode()


def test_withdraw_and_apply_again(client: Client, submitted: AccessRequest) -> None:
    for _ in range(2):
        client.post(address(submitted, "withdraw/"))
    assert "Apply again" in client.get(address(submitted)).content.decode()
    for _ in range(2):
        answer = client.post(address(submitted, "again/"))
    row = AccessRequest.objects.get(state="draft")
    assert answer["Location"] == address(row)
    assert row.purpose == "Folding."


def test_approved(client: Client, approved: AccessRequest) -> None:
    page = client.get(address(approved)).content.decode()
    assert "Approved." in page
    assert 'href="/labs/"' in page
    assert "Your labs may use up to" in page


@pytest.mark.parametrize("what", ["", "draft/", "message/", "withdraw/", "again/"])
def test_of_others_nothing_is_seen(draft: AccessRequest, what: str) -> None:
    stranger = logged_in(accounts.create_account("stranger@example.org"))
    assert stranger.post(address(draft, what), {"text": "x"}).status_code == 404
    away = Client().post(address(draft, what))
    assert away.status_code == 302
    assert away["Location"].startswith("/login/")


def test_queries_do_not_grow(
    client: Client,
    researcher: Account,
    reviewer: Account,
    submitted: AccessRequest,
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(8):
        services.reply(submitted, researcher, f"Message {number}")
    for _ in range(8):
        services.withdraw(services.open_request(researcher) or submitted, researcher)
        services.draft(researcher)
    for path in ("/access/", address(submitted)):
        with django_assert_max_num_queries(8):
            assert client.get(path).status_code == 200


def test_what_works_without_access_works(capsys: Any) -> None:
    exec(compile(LOCAL, "local", "exec"), {})
    assert "(200,)" in capsys.readouterr().out
