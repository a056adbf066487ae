"""When the cockpit's row about mail is beyond its limit, and when it is not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail
from workunits.admin import readings
from workunits.admin.how_to import HOW_TO

pytestmark = pytest.mark.django_db


def mails(
    number: int, state: MailState, code: MailCode = MailCode.NONE, age: timedelta = timedelta()
) -> None:
    now = timezone.now()
    known = OutboxMail.objects.count()
    OutboxMail.objects.bulk_create(
        OutboxMail(
            key=f"mail:{known + each}",
            address="ai@example.org",
            language="vi",
            template="check",
            subject="",
            body="",
            state=state,
            code=code,
            due=now - age,
            created=now - age,
            finished=None if state == MailState.WAITING else now,
        )
        for each in range(number)
    )


def test_codes_that_ended_are_told_and_do_not_count() -> None:
    mails(1, MailState.SENT)
    mails(7, MailState.FAILED, MailCode.EXPIRED)
    line = readings.mail()
    assert line.kind == "done"
    assert "0 not delivered" in line.value
    assert line.details == ["7 more were too old to be of use when their turn came"]


@pytest.mark.parametrize(
    ("sent", "lost", "kind"),
    [(0, 0, "done"), (1, 1, "waiting"), (0, 4, "waiting"), (0, 5, "refused"), (95, 5, "waiting")],
)
@pytest.mark.parametrize(
    ("state", "code"),
    [(MailState.BOUNCED, MailCode.REFUSED), (MailState.FAILED, MailCode.GAVE_UP)],
)
def test_mails_that_could_not_be_delivered(
    sent: int, lost: int, kind: str, state: MailState, code: MailCode
) -> None:
    mails(sent, MailState.SENT)
    mails(lost, state, code)
    assert readings.mail().kind == kind


def test_a_mail_server_that_is_away() -> None:
    """Its codes end after 15 minutes, so none of them would ever be 15 minutes late."""
    mails(1, MailState.WAITING, MailCode.UNREACHABLE, timedelta(seconds=280))
    assert readings.mail().kind == "done"
    mails(1, MailState.WAITING, MailCode.SETTINGS, timedelta(seconds=320))
    assert readings.mail().kind == "refused"


def test_a_late_mail() -> None:
    mails(1, MailState.WAITING, age=timedelta(minutes=14))
    assert readings.mail().kind == "done"
    mails(1, MailState.WAITING, age=timedelta(minutes=16))
    assert readings.mail().kind == "refused"


def test_the_how_to_states_the_limits() -> None:
    told = str(HOW_TO["mail"].meaning)
    for limit in (
        f"{readings.LATEST_MAIL_S // 60} minutes late",
        f"out of use for {readings.LONGEST_STOP_S // 60} minutes",
        f"{readings.FEWEST_UNDELIVERED} mails",
        f"{readings.MOST_UNDELIVERED:.0%}".replace("%", " %"),
    ):
        assert limit in told.replace("has been out of use", "out of use"), limit
