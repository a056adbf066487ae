"""Saved replies in the admin: reviewers keep them, in both languages."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import Account
from research_access.models import SavedReply
from research_access.tests.reviewing import reviewer_called
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db

REPLIES = "/admin/research_access/savedreply/"
DATA = {"title": "Data", "text_en": "Which data?", "text_vi": "Dữ liệu nào?"}


@pytest.fixture
def desk(reviewer: Account) -> Client:
    return client_of(reviewer_called("lan@example.org", reviewer))


def test_added_changed_deleted(desk: Client) -> None:
    assert desk.post(f"{REPLIES}add/", DATA).status_code == 302
    reply = SavedReply.objects.get()
    assert (reply.text("vi"), reply.text("en"), reply.text("fr")) == (
        "Dữ liệu nào?",
        "Which data?",
        "Which data?",
    )
    assert "Which data?" in desk.get(REPLIES).content.decode()
    desk.post(f"{REPLIES}{reply.pk}/change/", DATA | {"text_en": "\u202eWhose data?  \r\n"})
    assert SavedReply.objects.get().text_en == "Whose data?"
    assert desk.post(f"{REPLIES}{reply.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not SavedReply.objects.exists()


@pytest.mark.parametrize("missing", DATA)
def test_both_languages_are_needed(desk: Client, missing: str) -> None:
    assert desk.post(f"{REPLIES}add/", DATA | {missing: " "}).status_code == 200
    assert not SavedReply.objects.exists()


def test_a_title_once(desk: Client) -> None:
    desk.post(f"{REPLIES}add/", DATA)
    assert desk.post(f"{REPLIES}add/", DATA).status_code == 200
    assert SavedReply.objects.count() == 1
