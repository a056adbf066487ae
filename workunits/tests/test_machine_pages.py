"""My machines and one machine: what they say, to whom, and at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.authentication import principal_of_token
from accounts.models import Account
from accounts.services import issue_token, sign_out
from goblin_wire.exchange import Returned
from goblin_wire.problems import HostRemoved, TokenExpired
from goblin_wire.states import Activity, VerdictKind
from goblin_wire.tokens import Scope, split_token
from gpugoblin_site.database import prepared
from workunits import notices, removal
from workunits.models import CreditDay, Device, Host, Lease, Unit
from workunits.pages import words
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def counted() -> Iterator[list[str]]:
    """Every statement that reaches the database, ours and Django's."""
    sent: list[str] = []
    run = prepared.run

    def counting(queries: Any, **options: Any) -> Any:
        sent.extend(query.sql for query in queries)
        return run(queries, **options)

    def wrapped(execute: Any, sql: str, *rest: Any) -> Any:
        sent.append(sql)
        return execute(sql, *rest)

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(wrapped):
        patch.setattr(prepared, "run", counting)
        yield sent


def browser(volunteer: Volunteer) -> Client:
    client = Client()
    client.force_login(Account.objects.get(pk=volunteer.principal.account_id))
    return client


def text_of(client: Client, path: str, *, part: bool = False) -> str:
    answer = client.get(path, headers={"HX-Request": "true"} if part else {})
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return re.sub(r"\s+", " ", answer.content.decode())


def test_who_has_no_machine_reads_how_to_add_one(settings: Any) -> None:
    settings.GOBLIN_SITE_URL = "https://goblins.example"
    shown = re.sub(r"</?span[^>]*>", "", text_of(browser(Volunteer.make()), "/machines/"))
    assert "goblin-client join --site https://goblins.example" in shown
    assert "goblin-client run" in shown


def test_a_machine_is_called_as_its_person_said_at_join() -> None:
    volunteer = Volunteer.make()
    volunteer.ask(label="bếp \u202elùi")
    assert Host.objects.get().label == "bếp lùi"
    assert "bếp lùi" in text_of(browser(volunteer), "/machines/")


def test_a_machine_without_a_word_is_called_as_its_sign_in_was() -> None:
    volunteer = Volunteer.make()
    account = Account.objects.get(pk=volunteer.principal.account_id)
    parts = split_token(issue_token(account, Scope.VOLUNTEER, label="attic"))
    assert parts is not None
    token = account.tokens.get(prefix=parts.prefix)
    known = type(volunteer.principal)(account.pk, account.key, token.pk)
    Volunteer(known, volunteer.host).ask()
    assert (Host.objects.get().label, Host.objects.get().token_id) == ("attic", token.pk)


def test_it_works_idles_is_paused_stops_and_is_missed() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    client = browser(volunteer)
    (lease,) = volunteer.ask(1).leases
    assert "Works on 1 unit" in text_of(client, "/machines/")
    volunteer.ask(done=[done(lease)])
    assert "1 result waits for a verdict." in text_of(client, "/machines/")
    lab.judge(verdict(lease))
    volunteer.ask(1)
    assert "There is no work at the moment" in text_of(client, "/machines/")
    volunteer.ask(activity=Activity.PAUSED, resumes_s=600.0)
    assert "goes on by itself" in text_of(client, "/machines/")
    volunteer.ask(activity=Activity.STOPPING)
    assert "Switched off" in text_of(client, "/machines/")
    volunteer.ask(1)
    Host.objects.update(last_seen=timezone.now() - timedelta(hours=2))
    assert "Not seen" in text_of(client, "/machines/")


def test_since_is_when_it_began_and_not_the_last_message() -> None:
    volunteer = Volunteer.make()
    volunteer.ask(1)
    Host.objects.update(doing_since=timezone.now() - timedelta(hours=3))
    volunteer.ask(1)
    assert "3" in text_of(browser(volunteer), "/machines/")
    assert timezone.now() - Host.objects.get().doing_since > timedelta(hours=2)
    volunteer.ask(activity=Activity.PAUSED)
    assert timezone.now() - Host.objects.get().doing_since < timedelta(minutes=1)


def test_another_persons_machine_is_not_found() -> None:
    mine, other = Volunteer.make(), Volunteer.make()
    mine.ask()
    address = f"/machines/{UUID(hex=mine.host)}/"
    client = browser(other)
    for path in (address, f"{address}remove/"):
        assert client.get(path).status_code == 404
        assert client.post(path, {"label": "stolen"}).status_code == 404
    assert Host.objects.get().removed is None
    assert Host.objects.get().label == ""
    assert Client().get("/machines/").status_code == 302


def test_a_machine_gets_another_name() -> None:
    volunteer = Volunteer.make()
    volunteer.ask(label="old")
    client = browser(volunteer)
    address = f"/machines/{UUID(hex=volunteer.host)}/"
    decomposed = "Ma\u0301y ở bếp <b>&amp;"
    assert client.post(address, {"label": decomposed}).status_code == 302
    assert Host.objects.get().label == "Máy ở bếp <b>&amp;"
    shown = text_of(client, address)
    assert "Máy ở bếp &lt;b&gt;&amp;amp;" in shown
    assert client.post(address, {"label": "x" * 101}).status_code == 422
    volunteer.ask(label="again old")
    assert Host.objects.get().label.startswith("Máy")
    client.post(address, {"label": " "})
    assert f"Machine {volunteer.host[:6]}" in text_of(client, "/machines/")


def test_a_refusal_is_shown_with_what_was_wrong() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    reason = "entry (3, 4) is 1e9 off <script>"
    judged = verdict(lease, VerdictKind.REJECTED, code="wrong_entry", reason=reason, residual=0.25)
    lab.judge(judged)
    assert "1 refused" in text_of(browser(volunteer), "/machines/")
    volunteer.ask()
    shown = text_of(browser(volunteer), f"/machines/{UUID(hex=volunteer.host)}/")
    assert "wrong beyond every rounding error" in shown
    assert "entry (3, 4) is 1e9 off &lt;script&gt;" in shown
    assert "0.25" in shown
    assert lease.lease in shown
    assert "1 refused" in text_of(browser(volunteer), "/machines/")


def test_a_pause_is_no_refusal() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(returned=[Returned(lease=lease.lease, code="paused")])
    shown = text_of(browser(volunteer), f"/machines/{UUID(hex=volunteer.host)}/")
    assert "None in the last 90 days." in shown


def test_a_removed_machine_stops_and_its_work_is_handed_on() -> None:
    lab, gone, other = Researcher.make(), Volunteer.make(), Volunteer.make()
    lab.job(units=2)
    first, second = gone.ask(2, label="attic").leases
    gone.ask(done=[done(first)])
    client = browser(gone)
    address = f"/machines/{UUID(hex=gone.host)}/remove/"
    assert "Remove attic?" in text_of(client, address)
    assert client.post(address).status_code == 302
    with pytest.raises(HostRemoved):
        gone.ask(1)
    with pytest.raises(HostRemoved):
        gone.repeat()
    assert [each.unit for each in other.ask(5).leases] == [second.unit]
    lab.judge(verdict(first))
    assert CreditDay.objects.get(account_id=gone.principal.account_id).flops == 1000
    assert (
        Host.objects.get(uid=gone.host).label,
        Device.objects.filter(host__uid=gone.host).exists(),
    ) == ("", False)
    handed_on = Lease.objects.get(pk=second.lease)
    assert (handed_on.state, handed_on.code, handed_on.counts) == ("returned", "removed", False)
    assert client.get(f"/machines/{UUID(hex=gone.host)}/").status_code == 404
    assert "was removed already" in client.post(address, follow=True).content.decode()
    assert browser(other).post(address).status_code == 404
    assert "add the first one" in text_of(client, "/machines/").lower()
    assert not removal.remove(gone.principal.account_id, UUID(hex=gone.host))
    gone.another_host().ask(1)
    assert Unit.objects.get(uid=second.unit).state == "leased"


def test_a_token_ends_with_the_last_machine_that_uses_it() -> None:
    volunteer = Volunteer.make()
    account = Account.objects.get(pk=volunteer.principal.account_id)
    bearer = issue_token(account, Scope.VOLUNTEER, label="shared")
    token = account.tokens.get()
    known = type(volunteer.principal)(account.pk, account.key, token.pk)
    one, two = Volunteer(known), Volunteer(known)
    one.ask()
    two.ask()
    assert removal.remove(account.pk, UUID(hex=one.host))
    token.refresh_from_db()
    assert token.revoked is None
    assert removal.remove_all(account.pk) == 1
    token.refresh_from_db()
    assert token.revoked is not None
    with pytest.raises(HostRemoved):
        principal_of_token(bearer, Scope.VOLUNTEER)


def test_a_machine_that_left_is_signed_off() -> None:
    volunteer = Volunteer.make()
    account = Account.objects.get(pk=volunteer.principal.account_id)
    bearer = issue_token(account, Scope.VOLUNTEER)
    known = type(volunteer.principal)(account.pk, account.key, account.tokens.get().pk)
    Volunteer(known, volunteer.host).ask()
    assert "It asks for work." in text_of(browser(volunteer), "/machines/")
    sign_out(bearer)
    with pytest.raises(TokenExpired):
        principal_of_token(bearer, Scope.VOLUNTEER)
    assert "Signed off" in text_of(browser(volunteer), "/machines/")


def test_each_reason_for_no_work_has_a_sentence() -> None:
    source = Path(notices.__file__).read_text()
    codes = set(re.findall(r'Notice\(\s*"([a-z_]+)"', source)) - {"ok"}
    assert codes == set(words.IDLE)


def test_the_part_that_moves_is_asked_for_alone() -> None:
    volunteer = Volunteer.make()
    volunteer.ask()
    client = browser(volunteer)
    for path in ("/machines/", f"/machines/{UUID(hex=volunteer.host)}/"):
        part = text_of(client, path, part=True)
        assert "<html" not in part
        whole = text_of(client, path)
        assert part.strip()[:200] in whole
        assert 'data-every="6"' in whole
        logged_out = Client().get(path, headers={"HX-Request": "true"})
        assert (logged_out.status_code, logged_out["HX-Refresh"]) == (204, "true")


def test_two_hundred_machines_cost_no_more_queries_than_one() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=2)
    volunteer.ask(2)
    client = browser(volunteer)
    client.get("/machines/")
    with counted() as few:
        client.get("/machines/")
    now = timezone.now()
    account = volunteer.principal.account_id
    hosts = Host.objects.bulk_create(
        Host(account_id=account, uid=UUID(int=number), last_seen=now) for number in range(200)
    )
    Device.objects.bulk_create(
        Device(host=host, name=name, memory=2**30, flops_per_s=1e9, catalogue=1, last_seen=now)
        for host in hosts
        for name in ("cpu", "gpu0")
    )
    with counted() as many:
        shown = client.get("/machines/?page=2").content.decode()
    assert shown.count("Graphics card") == 50
    assert len(many) == len(few) <= 12, many
