"""Incidents: operators tell of them, everybody reads them, and nothing that was told is lost."""

from __future__ import annotations

import html
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import Account
from accounts.roles import Role
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from gpugoblin_site.fixed_history import HistoryIsFixed
from tests.people import as_operator
from workunits import incidents
from workunits.incidents import Telling
from workunits.models import Incident, IncidentVersion
from workunits.tests.test_switches import with_role

pytestmark = pytest.mark.django_db

ENGLISH = "Results were checked late. None was lost."
VIETNAMESE = "Kết quả được kiểm tra chậm. Không mất kết quả nào."
ADD = "/admin/workunits/incident/add/"


def minute(ago: timedelta) -> datetime:
    """A whole minute, as forms send them."""
    return (timezone.now() - ago).replace(second=0, microsecond=0)


def telling(began: timedelta, ended: timedelta | None = None, english: str = ENGLISH) -> Telling:
    end = None if ended is None else minute(ended)
    return Telling(english, VIETNAMESE, minute(began), end)


@pytest.fixture
def operator() -> Account:
    return with_role(Role.OPERATOR)


@pytest.fixture
def browser(operator: Account) -> Client:
    return as_operator(operator)


def status(language: str = "en") -> str:
    answer = Client(headers={"Accept-Language": language}).get("/status/")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def form(began: datetime, ended: datetime | None = None, **changes: str) -> dict[str, str]:
    """As the browser of an operator whose zone is UTC sends it."""
    return {
        "began": f"{began:%Y-%m-%dT%H:%M}",
        "ended": "" if ended is None else f"{ended:%Y-%m-%dT%H:%M}",
        "sentence_en": ENGLISH,
        "sentence_vi": VIETNAMESE,
        **changes,
    }


# --- what everybody reads -----------------------------------------------------------------------
def test_without_incidents_the_page_says_so() -> None:
    assert "The operators have written of none." in status()


def test_what_lasts_stands_first_and_in_the_reader_s_language(operator: Account) -> None:
    incidents.tell(telling(timedelta(hours=1)), operator)
    english, vietnamese = status(), status("vi")
    assert ENGLISH in english
    assert VIETNAMESE not in english
    assert english.index(ENGLISH) < english.index("Incidents of the last 90 days")
    assert VIETNAMESE in vietnamese
    assert ENGLISH not in vietnamese


def test_what_is_over_stands_below_for_ninety_days(operator: Account) -> None:
    incidents.tell(telling(timedelta(days=89, hours=1), timedelta(days=89), "Over."), operator)
    incidents.tell(telling(timedelta(days=92), timedelta(days=91), "Forgotten."), operator)
    page = status()
    assert page.index("Incidents of the last 90 days") < page.index("Over.")
    assert "Forgotten." not in page
    assert "1\N{NO-BREAK SPACE}h" in page


def test_the_newest_stand_first_and_there_are_never_many(operator: Account) -> None:
    for day in range(1, incidents.MOST_SHOWN + 3):
        over = telling(timedelta(days=day, hours=1), timedelta(days=day), f"Day {day}.")
        incidents.tell(over, operator)
    incidents.tell(telling(timedelta(days=80), english="It lasts."), operator)
    found = [each.sentence_en for each in incidents.shown()]
    assert len(found) == incidents.MOST_SHOWN
    assert found[:3] == ["It lasts.", "Day 1.", "Day 2."]


def test_html_in_a_sentence_is_text(operator: Account) -> None:
    incidents.tell(telling(timedelta(hours=1), english="<b>Bold</b>"), operator)
    answer = Client(headers={"Accept-Language": "en"}).get("/status/")
    assert "&lt;b&gt;Bold" in answer.content.decode()


# --- who may, and what can be told --------------------------------------------------------------
@pytest.mark.parametrize("role", [Role.REVIEWER, None])
def test_only_operators_tell(role: Role | None, operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1)), operator)
    other = with_role(role) if role else Account.objects.create()
    with pytest.raises(NotAllowed):
        incidents.tell(telling(timedelta(hours=1)), other)
    with pytest.raises(NotAllowed):
        incidents.correct(incident.pk, 1, telling(timedelta(hours=2)), other)
    if role:
        browser = as_operator(other)
        for path in (ADD, f"/admin/workunits/incident/{incident.pk}/change/"):
            assert browser.get(path).status_code == 403
            assert browser.post(path, form(minute(timedelta(hours=1)))).status_code == 403
    assert IncidentVersion.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        telling(-timedelta(hours=1)),
        telling(timedelta(hours=1), -timedelta(hours=1)),
        telling(timedelta(hours=1), timedelta(hours=2)),
        telling(timedelta(hours=1), english=" \u200b "),
    ],
)
def test_what_can_not_be_told(wrong: Telling, operator: Account) -> None:
    with pytest.raises(BadMessage):
        incidents.tell(wrong, operator)
    assert not Incident.objects.exists()


# --- the history --------------------------------------------------------------------------------
def test_a_correction_keeps_what_was_told_before(operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1), english="First."), operator)
    other = with_role(Role.SUPERUSER)
    ended = telling(timedelta(hours=1), timedelta(minutes=5), "Then.")
    incidents.correct(incident.pk, 1, ended, other)
    told = incident.versions.order_by("version")
    assert [(each.sentence_en, each.ended, each.by_id) for each in told] == [
        ("First.", None, operator.pk),
        ("Then.", ended.ended, other.pk),
    ]


def test_nothing_changed_is_no_version(operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1)), operator)
    again = Telling(ENGLISH, VIETNAMESE, incident.began, None)
    assert incidents.correct(incident.pk, 1, again, operator).version == 1
    assert incident.versions.count() == 1


def test_two_operators_at_once(operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1)), operator)
    incidents.correct(incident.pk, 1, telling(timedelta(hours=1), english="Faster."), operator)
    with pytest.raises(Conflict):
        incidents.correct(incident.pk, 1, telling(timedelta(hours=1), english="Late."), operator)
    assert Incident.objects.get().sentence_en == "Faster."


def test_the_history_is_fixed(operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1)), operator)
    version = incident.versions.get()
    with pytest.raises(HistoryIsFixed):
        version.save()
    for statement in (
        "UPDATE workunits_incidentversion SET sentence_en = 'x'",
        "DELETE FROM workunits_incidentversion",
    ):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


# --- by hand ------------------------------------------------------------------------------------
def test_telling_correcting_and_ending_by_hand(browser: Client, operator: Account) -> None:
    began = minute(timedelta(hours=1))
    assert browser.post(ADD, form(began))["Location"] == "/admin/workunits/incident/"
    incident = Incident.objects.get()
    assert (incident.began, incident.ended) == (began, None)
    where = f"/admin/workunits/incident/{incident.pk}/change/"
    assert f'value="{began:%Y-%m-%dT%H:%M}"' in browser.get(where).content.decode()
    ended = minute(timedelta(minutes=2))
    assert browser.post(where, form(began, ended, version="1")).status_code == 302
    assert Incident.objects.get().ended == ended
    assert "it lasts" in html.unescape(browser.get(where).content.decode())
    assert browser.get("/admin/workunits/incidentversion/").status_code == 200
    assert ENGLISH in status()


def test_times_are_those_of_the_operator_s_zone(browser: Client, operator: Account) -> None:
    operator.person.time_zone = "Asia/Ho_Chi_Minh"
    operator.person.save()
    began = minute(timedelta(hours=1))
    typed = form(began + timedelta(hours=7))
    assert browser.post(ADD, typed).status_code == 302
    assert Incident.objects.get().began == began


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"began": "yesterday"}, "began", "Enter a valid date/time."),
        ({"began": ""}, "began", "This field is required."),
        ({"began": "2999-01-01T00:00"}, "began", "later than now"),
        ({"ended": "2020-01-01T00:00"}, "ended", "before it began"),
        ({"sentence_vi": ""}, "sentence_vi", "This field is required."),
        ({"sentence_en": "x" * 1001}, "sentence_en", "at most 1000 characters"),
    ],
)
def test_what_does_not_fit_is_told_beside_its_field_and_kept(
    browser: Client, changes: dict[str, str], field: str, said: str
) -> None:
    answer = browser.post(ADD, form(minute(timedelta(hours=1))) | changes)
    page = html.unescape(answer.content.decode())
    assert f'id="id_{field}_error"' in page
    assert said in page
    assert changes.get("sentence_en", ENGLISH) in page
    assert not Incident.objects.exists()


def test_a_page_that_is_behind_shows_what_is_told_now(browser: Client, operator: Account) -> None:
    incident = incidents.tell(telling(timedelta(hours=1)), operator)
    now = telling(timedelta(hours=1), english="Faster.")
    incidents.correct(incident.pk, 1, now, operator)
    where = f"/admin/workunits/incident/{incident.pk}/change/"
    mine = form(incident.began, sentence_en="Mine.", version="1")
    page = html.unescape(browser.post(where, mine).content.decode())
    assert "Somebody has changed this incident meanwhile" in page
    assert "Faster." in page
    assert "Mine." in page
    assert 'name="version" value="2"' in page


def test_the_first_page_tells_how_many_last(browser: Client, operator: Account) -> None:
    assert "none that lasts" in browser.get("/admin/").content.decode()
    incidents.tell(telling(timedelta(hours=1)), operator)
    assert "1 incident lasts." in browser.get("/admin/").content.decode()
