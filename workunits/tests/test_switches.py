"""Switches: with the next poll nothing goes out, and whoever is concerned reads why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import Account, Person
from accounts.roles import Role, make_groups, set_roles
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from goblin_wire.states import UnitState, VerdictKind
from gpugoblin_site.fixed_history import HistoryIsFixed
from workunits import switches, waiting
from workunits.models import Host, Switch, SwitchKind, SwitchMove, Unit
from workunits.switches import Subject, Words
from workunits.tests.world import Researcher, Volunteer, done, make_account, verdict

pytestmark = pytest.mark.django_db

WORDS = Words(
    "Stopped while we look into wrong results.",
    "Tạm dừng để kiểm tra các kết quả sai.",
    "ticket 12",
)


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


@pytest.fixture
def volunteer() -> Volunteer:
    return Volunteer.make()


@pytest.fixture
def operator() -> Account:
    return with_role(Role.OPERATOR)


def with_role(role: Role) -> Account:
    make_groups()
    account, superuser = make_account(), make_account()
    superuser.is_superuser = superuser.is_staff = True
    superuser.save(update_fields=["is_superuser", "is_staff"])
    set_roles(account, [role], superuser)
    return Account.objects.get(pk=account.pk)


def host_of(volunteer: Volunteer) -> Host:
    return Host.objects.get(uid=volunteer.host)


SUBJECTS: dict[str, Callable[[Volunteer, Researcher], Subject]] = {
    "everything": lambda _volunteer, _lab: Subject(SwitchKind.EVERYTHING),
    "version": lambda _volunteer, _lab: Subject(SwitchKind.VERSION, version="0.1.0"),
    "account": lambda v, _lab: Subject(SwitchKind.ACCOUNT, target=v.principal.account_id),
    "host": lambda v, _lab: Subject(SwitchKind.HOST, target=host_of(v).pk),
    "lab": lambda _volunteer, lab: Subject(SwitchKind.LAB, target=lab.lab.pk),
}


@pytest.mark.parametrize("kind", SUBJECTS)
def test_nothing_goes_out_from_the_next_poll_on_and_all_goes_on_when_it_is_lifted(
    kind: str, lab: Researcher, volunteer: Volunteer, operator: Account
) -> None:
    lab.job(units=3)
    lab.events()
    assert len(volunteer.ask(1, version="0.1.0").leases) == 1
    switch = switches.switch_off(SUBJECTS[kind](volunteer, lab), WORDS, operator)
    reply = volunteer.ask(1, version="0.1.0")
    assert (reply.leases, reply.notice_code, reply.notice) == ([], switches.CODE, WORDS.english)
    switches.lift(switch.pk, "mended", operator)
    reply = volunteer.ask(1, version="0.1.0")
    assert (len(reply.leases), reply.notice) == (1, "")


@pytest.mark.parametrize("kind", SUBJECTS)
def test_others_go_on(kind: str, lab: Researcher, volunteer: Volunteer, operator: Account) -> None:
    lab.job(units=3)
    Researcher.make().job(units=3)
    volunteer.ask(version="0.1.0")
    switches.switch_off(SUBJECTS[kind](volunteer, lab), WORDS, operator)
    other = Volunteer.make().ask(6, version="0.2.0")
    assert len(other.leases) == {"everything": 0, "lab": 3}.get(kind, 6)


def test_a_machine_that_wants_nothing_now_is_told_too(
    volunteer: Volunteer, operator: Account
) -> None:
    switches.switch_off(Subject(SwitchKind.EVERYTHING), WORDS, operator)
    assert volunteer.ask().notice == WORDS.english


def test_a_new_machine_is_told_with_its_first_message(lab: Researcher, operator: Account) -> None:
    lab.job()
    switches.switch_off(Subject(SwitchKind.VERSION, version="0.1.0"), WORDS, operator)
    reply = Volunteer.make().ask(1, version="0.1.0")
    assert (reply.leases, reply.notice_code) == ([], switches.CODE)


@pytest.mark.parametrize("kind", ["everything", "lab"])
def test_a_machine_that_is_switched_off_does_not_wait_to_be_called(
    kind: str, lab: Researcher, volunteer: Volunteer, operator: Account
) -> None:
    lab.job()
    volunteer.ask()
    assert _called() == [("work",)]
    switches.switch_off(SUBJECTS[kind](volunteer, lab), WORDS, operator)
    reply = volunteer.ask(1)
    assert reply.poll_after_ms <= 15_000
    assert _called() == []


def _called() -> list[tuple[str]]:
    """Why one client who waits would be called now."""
    values = {**waiting.parameters([]), "c_n": [0], **_one_client()}
    with connection.cursor() as cursor:
        cursor.execute(waiting.QUERY, values)
        return [(kind,) for _n, kind, _units in cursor.fetchall()]


def _one_client() -> dict[str, list[int]]:
    return {"c_account": [0], "c_host": [0], "c_memory": [2**40], "c_catalogue": [9]}


def test_the_sentence_is_in_the_reader_s_language(
    lab: Researcher, volunteer: Volunteer, operator: Account
) -> None:
    lab.job()
    everyone = [volunteer.principal.account_id, lab.principal.account_id]
    Person.objects.filter(account__in=everyone).update(language="vi")
    switch = switches.switch_off(Subject(SwitchKind.LAB, target=lab.lab.pk), WORDS, operator)
    assert volunteer.ask(1).notice == WORDS.vietnamese
    assert lab.events().notice == WORDS.vietnamese
    switches.lift(switch.pk, "mended", operator)
    assert lab.events().notice == ""


def test_units_in_hand_may_finish_and_earn_credit(
    lab: Researcher, volunteer: Volunteer, operator: Account
) -> None:
    lab.job(units=2)
    (lease,) = volunteer.ask(1).leases
    for kind in SUBJECTS:
        switches.switch_off(SUBJECTS[kind](volunteer, lab), WORDS, operator)
    assert volunteer.ask(1, done=[done(lease)]).leases == []
    outcome = lab.judge(verdict(lease, VerdictKind.ACCEPTED)).outcomes[0]
    assert outcome.unit_state is UnitState.ACCEPTED
    assert [each.flops for each in volunteer.ask().settled] == [1000]
    assert set(Unit.objects.values_list("state", flat=True)) == {"accepted", "open"}


def test_what_the_pages_show(lab: Researcher, volunteer: Volunteer, operator: Account) -> None:
    volunteer.ask(version="0.1.0")
    another = volunteer.another_host()
    another.ask(version="0.2.0")
    account, first, second = (
        volunteer.principal.account_id,
        host_of(volunteer).pk,
        host_of(another).pk,
    )
    versions = {first: "0.1.0", second: "0.2.0"}
    assert switches.of_machines(account, versions, "en") == {}
    switches.switch_off(Subject(SwitchKind.VERSION, version="0.1.0"), WORDS, operator)
    assert switches.of_machines(account, versions, "vi") == {first: WORDS.vietnamese}
    assert switches.of_labs([lab.lab.pk], "en") == {}
    switches.switch_off(Subject(SwitchKind.LAB, target=lab.lab.pk), WORDS, operator)
    assert switches.of_labs([lab.lab.pk, 0], "en") == {lab.lab.pk: WORDS.english}
    switches.switch_off(Subject(SwitchKind.EVERYTHING), WORDS, operator)
    assert set(switches.of_labs([lab.lab.pk, 0], "en")) == {lab.lab.pk, 0}
    assert set(switches.of_machines(account, versions, "en")) == {first, second}


# --- who may, and what is kept -------------------------------------------------------------------
def test_only_an_operator_turns_switches(operator: Account) -> None:
    subject = Subject(SwitchKind.EVERYTHING)
    for somebody in (make_account(), with_role(Role.REVIEWER)):
        with pytest.raises(NotAllowed):
            switches.switch_off(subject, WORDS, somebody)
    switch = switches.switch_off(subject, WORDS, operator)
    with pytest.raises(NotAllowed):
        switches.lift(switch.pk, "because", with_role(Role.REVIEWER))
    assert Switch.objects.count() == SwitchMove.objects.count() == 1


def test_each_move_is_kept_with_its_reason_and_cannot_be_changed(operator: Account) -> None:
    switch = switches.switch_off(Subject(SwitchKind.EVERYTHING), WORDS, operator)
    switches.lift(switch.pk, "mended", operator)
    assert list(SwitchMove.objects.order_by("id").values_list("on", "reason", "by")) == [
        (True, "ticket 12", operator.pk),
        (False, "mended", operator.pk),
    ]
    move = SwitchMove.objects.latest("id")
    for change in (move.save, move.delete):
        with pytest.raises(HistoryIsFixed):
            change()
    for statement in (
        "UPDATE workunits_switchmove SET reason = 'x'",
        "DELETE FROM workunits_switchmove",
    ):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_two_operators_at_once(operator: Account) -> None:
    subject = Subject(SwitchKind.VERSION, version="0.1.0")
    switch = switches.switch_off(subject, WORDS, operator)
    with pytest.raises(Conflict):
        switches.switch_off(subject, WORDS, operator)
    switches.lift(switch.pk, "mended", operator)
    with pytest.raises(Conflict):
        switches.lift(switch.pk, "mended", operator)
    assert SwitchMove.objects.count() == 2


NONSENSE = [
    (Subject(SwitchKind.HOST, target=10**12), WORDS),
    (Subject(SwitchKind.LAB), WORDS),
    (Subject(SwitchKind.VERSION), WORDS),
    (Subject(SwitchKind.VERSION, target=1, version="1"), WORDS),
    (Subject(SwitchKind.EVERYTHING, version="1"), WORDS),
    (Subject(SwitchKind.EVERYTHING), WORDS._replace(english=" ")),
    (Subject(SwitchKind.EVERYTHING), WORDS._replace(vietnamese="\u202e\n")),
    (Subject(SwitchKind.EVERYTHING), WORDS._replace(reason="")),
]


@pytest.mark.parametrize(("subject", "words"), NONSENSE)
def test_nonsense_switches_nothing(subject: Subject, words: Words, operator: Account) -> None:
    with pytest.raises(BadMessage):
        switches.switch_off(subject, words, operator)
    assert (Switch.objects.count(), SwitchMove.objects.count()) == (0, 0)


def test_sentences_are_kept_in_one_line_without_characters_that_steer(
    volunteer: Volunteer, operator: Account
) -> None:
    words = WORDS._replace(english="Stop\n\x1b[2J now \u202eplease " + "x" * 600)
    switches.switch_off(Subject(SwitchKind.EVERYTHING), words, operator)
    notice = volunteer.ask().notice
    assert notice.startswith("Stop [2J now please")
    assert len(notice) <= 500


def test_a_switch_costs_the_exchange_no_statement(
    lab: Researcher,
    volunteer: Volunteer,
    operator: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpugoblin_site.database import pipeline

    sent: list[int] = []
    execute = pipeline.execute

    def counted(raw: object, queries: list[object], **more: bool) -> object:
        sent.append(len(queries))
        return execute(raw, queries, **more)  # type: ignore[arg-type]

    lab.job(units=4)
    volunteer.ask(1)
    monkeypatch.setattr(pipeline, "execute", counted)
    volunteer.ask(1)
    granted = list(sent)
    switches.switch_off(Subject(SwitchKind.VERSION, version="9"), WORDS, operator)
    sent.clear()
    assert len(volunteer.ask(1).leases) == 1
    assert sent == granted
    switches.switch_off(Subject(SwitchKind.EVERYTHING), WORDS, operator)
    sent.clear()
    assert volunteer.ask(1).leases == []
    assert sum(sent) < sum(granted)
