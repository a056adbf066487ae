"""Requests and hands of reviewers for the tests of the admin."""

from __future__ import annotations

import html
import re
from datetime import timedelta

from django.db.models import F
from django.test import Client

from accounts import roles
from accounts import services as accounts
from accounts.models import Account
from research_access import services
from research_access.management.commands.make_network_people import COMPLETE
from research_access.models import AccessRequest

QUEUE = "/admin/research_access/accessrequest/"


def reviewer_called(email: str, by: Account, name: str = "") -> Account:
    """A reviewer who is nothing else."""
    account = accounts.create_account(email, name=name)
    roles.set_roles(account, [roles.Role.REVIEWER], by)
    return Account.objects.get(pk=account.pk)


def request_of(
    email: str,
    *,
    language: str = "en",
    hours: int = 0,
    account: Account | None = None,
    **answers: str,
) -> AccessRequest:
    """A request that was sent so many hours ago."""
    name = answers.get("name", "Ada Lovelace")
    person = account or accounts.create_account(email, name=name, language=language)
    draft = services.draft(person)
    services.save_draft(draft, person, **{**COMPLETE, "name": name, **answers})
    sent = services.submit_request(draft, person)
    AccessRequest.objects.filter(pk=sent.pk).update(
        submitted=F("submitted") - timedelta(hours=hours)
    )
    return AccessRequest.objects.get(pk=sent.pk)


def page_of(client: Client, request: AccessRequest) -> str:
    """The decision page as text."""
    answer = client.get(f"{QUEUE}{request.pk}/change/")
    assert answer.status_code == 200, answer.content
    return html.unescape(answer.content.decode())


def seen_on(page: str, move: str) -> str:
    """Which decision the page of a request showed as the last one."""
    found = re.search(rf'name="{move}-seen" value="(\d+)"', page)
    assert found is not None, f"no form for {move}"
    return found[1]


def move_body(page: str, move: str, reason: str = "", quota: str = "1000") -> dict[str, str]:
    """What the form of a move on this page sends."""
    body = {"move": move, f"{move}-seen": seen_on(page, move), f"{move}-reason": reason}
    return body | ({"approve-quota": quota} if move == "approve" else {})


def names_in(page: str) -> list[str]:
    """Who stands in the queue, in its order."""
    rows = re.findall(
        r'<th scope="row" id="row-\d+"><a href="[^"]+"><bdi translate="no">([^<]+)</bdi></a>', page
    )
    return [html.unescape(name) for name in rows]
