"""The first steps show how far an account has come, and what is next."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import services
from accounts.models import Account
from goblin_wire.states import RequestState
from gpugoblin_site.pages import start
from research_access import services as access
from research_access.management.commands.make_network_people import approved_request
from research_access.models import AccessRequest
from workunits.models import Host, Job, LabNode, Standing

pytestmark = pytest.mark.django_db


@pytest.fixture
def account() -> Account:
    return services.create_account("ada@example.org")


def states(client: Client, account: Account) -> tuple[list[str], list[str]]:
    """Of the volunteer's list and of the researcher's."""
    client.force_login(account)
    told = client.get(reverse("start")).content.decode()
    lists = re.findall(r'<ol class="checklist">(.*?)</ol>', told, re.S)
    first, second = (re.findall(r'<li class="([\w-]+)">', each) for each in lists)
    return first, second


def test_visitors_log_in_first(client: Client) -> None:
    answer = client.get(reverse("start"))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/")


def test_a_new_account(client: Client, account: Account) -> None:
    volunteer, researcher = states(client, account)
    assert volunteer == ["done", "to-do", "to-do"]
    assert researcher == ["done", "to-do", "to-do", "to-do", "to-do"]


def test_the_way_of_a_volunteer(client: Client, account: Account) -> None:
    host = Host.objects.create(account=account, uid=uuid.uuid4(), last_seen=timezone.now())
    assert states(client, account)[0] == ["done", "done", "waiting"]
    Standing.objects.update_or_create(account=account, defaults={"accepted": 1})
    assert states(client, account)[0] == ["done", "done", "done"]
    Host.objects.filter(pk=host.pk).update(removed=timezone.now())
    assert states(client, account)[0][1] == "to-do"


def test_the_way_of_a_researcher(client: Client, account: Account) -> None:
    AccessRequest.objects.create(account=account, state=RequestState.SUBMITTED.value)
    assert states(client, account)[1][1] == "waiting"
    AccessRequest.objects.all().delete()
    approved_request(account, services.make_operator("reviewer@example.org"))
    assert states(client, account)[1] == ["done", "done", "to-do", "to-do", "to-do"]
    lab = access.create_lab(account, "Lab")
    assert states(client, account)[1] == ["done", "done", "done", "to-do", "to-do"]
    LabNode.objects.create(lab=lab, public_key="k", endpoint="e", last_seen=timezone.now())
    assert states(client, account)[1][3] == "done"
    Job.objects.create(lab=lab, uid=uuid.uuid4(), kind="matmul", units=1, flops=1)
    assert states(client, account)[1] == ["done"] * 5


def test_what_others_did_counts_for_nobody_else(client: Client, account: Account) -> None:
    other = services.create_account("bob@example.org")
    Host.objects.create(account=other, uid=uuid.uuid4(), last_seen=timezone.now())
    approved_request(other, services.make_operator("reviewer@example.org"))
    access.create_lab(other, "Lab")
    assert states(client, account) == (["done", "to-do", "to-do"], ["done", *["to-do"] * 4])


def test_one_query_finds_it(account: Account, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        start._found(account)
