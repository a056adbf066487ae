"""Pages for what went wrong: in the reader's language, and readable whatever failed."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils import translation

from goblin_wire.protocol import MAX_JSON_BYTES
from gpugoblin_site import problems

pytestmark = pytest.mark.django_db


def test_there_is_no_such_page(client: Client) -> None:
    answer = client.get("/no/such/page/", HTTP_ACCEPT_LANGUAGE="vi")
    told = answer.content.decode()
    assert answer.status_code == 404
    assert '<html lang="vi">' in told
    assert "Không có trang nào ở địa chỉ này" in told


def test_a_form_that_was_too_old_says_what_to_do() -> None:
    answer = Client(enforce_csrf_checks=True).post("/language/", {"language": "vi"})
    assert answer.status_code == 403
    assert "Nothing was sent" in answer.content.decode()


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "text/plain"])
def test_a_file_is_refused_before_it_is_read(client: Client, kind: str) -> None:
    class Unread:
        def read(self, *_: Any) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    sent: dict[str, Any] = {
        "CONTENT_LENGTH": str(MAX_JSON_BYTES + 1),
        "wsgi.input": Unread(),
        "HTTP_ACCEPT_LANGUAGE": "vi",
    }
    answer = client.generic("POST", "/login/", b"", kind, **sent)
    assert answer.status_code == 413
    assert "Nội dung gửi quá lớn" in answer.content.decode()


@pytest.mark.parametrize("address", ["/logout/", "/language/"])
def test_an_address_for_buttons_says_so(client: Client, address: str) -> None:
    answer = client.get(address, HTTP_ACCEPT_LANGUAGE="vi")
    assert answer.status_code == 405
    assert answer["Allow"]
    assert "Địa chỉ này chỉ nhận" in answer.content.decode()


def test_a_failure_is_told_without_database_and_session(monkeypatch: Any) -> None:
    request = RequestFactory().get("/data/")
    with translation.override("vi"):
        answer = problems.server_error(request)
    assert answer.status_code == 500
    told = answer.content.decode()
    assert "Có lỗi ở phía chúng tôi" in told
    assert "goblin.css" in told


def test_a_failure_of_the_template_too_is_told_in_words(monkeypatch: Any) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("no templates")

    monkeypatch.setattr(problems, "render_to_string", broken)
    answer = problems.server_error(RequestFactory().get("/data/"))
    assert answer.status_code == 500
    assert answer.content.decode().startswith("Something failed on our side.")


def test_a_foreign_host_name_gets_a_page(client: Client) -> None:
    answer = client.get("/data/", HTTP_HOST="evil.example")
    assert answer.status_code == 400
    assert "Nothing was changed" in answer.content.decode()
