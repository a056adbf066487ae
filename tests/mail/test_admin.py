"""The outbox as operators see it: what happened, never what was written, and two buttons."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import roles, services
from accounts.tests.browsing import fields
from gpugoblin_site.mail import delivery, outbox
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail
from tests.mail.conftest import Post
from tests.people import as_operator

pytestmark = pytest.mark.django_db
LIST = "/admin/gpugoblin_site/outboxmail/"


@pytest.fixture
def operator() -> Client:
    return with_role("operator@example.org", roles.Role.OPERATOR)


def with_role(email: str, role: roles.Role) -> Client:
    account = services.create_account(email)
    roles.set_roles(account, {role}, by=services.make_operator("root@example.org"))
    account.refresh_from_db()
    return as_operator(account)


def queued(number: int = 1, **options: object) -> OutboxMail:
    to = f"person{number}@example.org"
    return outbox.queue(to, "check", {}, key=f"check:{number}", **options)  # type: ignore[arg-type]


def page_of(mail: OutboxMail) -> str:
    return reverse("admin:gpugoblin_site_outboxmail_change", args=(mail.pk,))


def press(browser: Client, mail: OutboxMail, button: str) -> str:
    text = browser.get(page_of(mail)).content.decode()
    done = browser.post(page_of(mail), fields(text) | {button: "1"}, follow=True)
    return done.content.decode()


def test_the_list_says_what_became_of_each(operator: Client, post: Post) -> None:
    post.refuse["rcpt"] = "550 no such person"
    queued(1)
    delivery.deliver_due()
    text = operator.get(LIST).content.decode()
    assert "person1@example.org" in text
    assert "came back" in text
    assert "address was refused" in text
    assert "no such person" in operator.get(page_of(OutboxMail.objects.get())).content.decode()
    assert "person1" in operator.get(f"{LIST}?q=person1").content.decode()
    assert "person1" not in operator.get(f"{LIST}?q=nobody").content.decode()


def test_texts_and_codes_are_not_shown(operator: Client) -> None:
    mail = queued(1, secret=True)
    OutboxMail.objects.update(subject="1234 5678 is your code", body="The code is 1234 5678.")
    for address in (LIST, page_of(mail), f"{LIST}?q=1234"):
        text = operator.get(address).content.decode()
        assert "1234 5678" not in text
    assert "(a code or a link)" in operator.get(LIST).content.decode()


def test_failed_mail_is_tried_again(operator: Client, post: Post) -> None:
    mail = queued()
    post.hang_up_after_text = True
    delivery.deliver_due()
    post.hang_up_after_text = False
    assert "may bring its reader a second copy" in operator.get(page_of(mail)).content.decode()
    assert "1 mail changed" in press(operator, mail, "_retry")
    assert LogEntry.objects.get().object_repr == str(mail)
    assert delivery.deliver_due() == 1
    assert "No mail" not in operator.get(page_of(mail)).content.decode()
    assert len(post.mails) == 2


def test_what_left_or_lost_its_text_is_not_tried_again(operator: Client) -> None:
    sent, secret = queued(1), queued(2, expires=timedelta(minutes=15))
    OutboxMail.objects.filter(pk=secret.pk).update(expires=timezone.now())
    delivery.deliver_due()
    assert outbox.state_of(secret.key) is MailState.FAILED
    assert "asks for it on the site" in operator.get(page_of(secret)).content.decode()
    for mail in (sent, secret):
        assert "Try again now" not in operator.get(page_of(mail)).content.decode()
        body = {"action": "retry", "_selected_action": [mail.pk]}
        done = operator.post(LIST, body, follow=True).content.decode()
        assert "stayed as they are" in done
    assert delivery.deliver_due() == 0


def test_waiting_mail_is_cancelled(operator: Client) -> None:
    first, second = queued(1, delay=timedelta(days=1)), queued(2, delay=timedelta(days=1))
    assert "1 mail changed" in press(operator, first, "_cancel")
    body = {"action": "cancel", "_selected_action": [first.pk, second.pk]}
    assert "stayed as they are" in operator.post(LIST, body, follow=True).content.decode()
    states = OutboxMail.objects.values_list("state", "code")
    assert set(states) == {(MailState.CANCELLED, MailCode.NONE)}


def test_who_may_not(operator: Client) -> None:
    mail = queued()
    other = with_role("reviewer@example.org", roles.Role.REVIEWER)
    assert other.get(LIST).status_code == 403
    assert other.post(page_of(mail), {"_cancel": "1"}).status_code == 403
    assert outbox.state_of(mail.key) is MailState.WAITING
    assert operator.get(page_of(mail).replace(str(mail.pk), "999999")).status_code == 404


def test_no_query_for_each_row(operator: Client, django_assert_max_num_queries: object) -> None:
    for number in range(60):
        queued(number)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert operator.get(LIST).status_code == 200
