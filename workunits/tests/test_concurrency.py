"""Many at once, on real PostgreSQL with a connection for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection

from goblin_wire.exchange import ExchangeReply
from goblin_wire.states import Policy
from workunits import limits
from workunits.models import CreditEntry, Lease, Unit
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")


def at_once(calls: list[Callable[[], T]], threads: int = 0) -> list[T]:
    """Run the calls at the same moment, each thread on a connection of its own."""
    number = threads or len(calls)
    gate = threading.Barrier(number)

    def run(call: Callable[[], T]) -> T:
        gate.wait(30)
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, calls))


def test_row_09_fifty_parallel_polls_on_one_unit_give_one_lease() -> None:
    lab = Researcher.make()
    lab.job(units=1)
    volunteers = [Volunteer.make() for _ in range(50)]
    replies = at_once([partial(v.ask, 1) for v in volunteers])
    assert sum(len(reply.leases) for reply in replies) == 1
    assert Lease.objects.count() == 1
    assert Unit.objects.get().issued == 1


def test_row_08_parallel_requests_of_one_account_keep_its_limit() -> None:
    lab = Researcher.make()
    lab.job(units=100)
    account = Volunteer.make(seasoned=False)
    hosts = [account.another_host() for _ in range(12)]
    replies = at_once([partial(h.ask, 50) for h in hosts])
    assert sum(len(reply.leases) for reply in replies) == limits.NEW_ACCOUNT_OPEN_LEASES


def test_one_account_never_holds_both_copies_of_a_unit() -> None:
    lab = Researcher.make()
    lab.job(units=10, copies=2, policy=Policy.COMPARE)
    account = Volunteer.make()
    hosts = [account.another_host() for _ in range(8)]
    replies = at_once([partial(h.ask, 10) for h in hosts])
    units = [lease.unit for reply in replies for lease in reply.leases]
    assert len(units) == len(set(units)) == 10


def test_a_nearly_full_window_is_kept_under_parallel_claims() -> None:
    lab = Researcher.make()
    lab.window.units = 5
    lab.job(units=60)
    lab.events()
    volunteers = [Volunteer.make() for _ in range(12)]
    replies = at_once([partial(v.ask, 4) for v in volunteers])
    assert sum(len(reply.leases) for reply in replies) == 5


def test_a_retry_that_overtakes_its_first_try_gets_nothing_twice() -> None:
    lab = Researcher.make()
    lab.job(units=50)
    volunteer = Volunteer.make()
    volunteer.ask()
    volunteer.ask(3)
    assert volunteer.last is not None
    message = volunteer.last
    from workunits.exchange import exchange

    message.seq += 1

    def send() -> ExchangeReply:
        return exchange(volunteer.principal, message)

    replies = at_once([send for _ in range(8)])
    assert len({lease.lease for reply in replies for lease in reply.leases}) == 3
    assert Lease.objects.count() == 6


def test_reports_and_verdicts_that_cross_credit_each_lease_once() -> None:
    lab = Researcher.make()
    lab.job(units=30)
    volunteers = [Volunteer.make() for _ in range(3)]
    leases = [v.ask(10).leases for v in volunteers]

    def report(index: int) -> None:
        volunteers[index].ask(done=[done(lease) for lease in leases[index]])

    def judge(index: int) -> None:
        lab.judge(*[verdict(lease) for lease in reversed(leases[index])])

    calls: list[Callable[[], None]] = []
    for index in range(3):
        calls += [partial(report, index), partial(judge, index), partial(judge, index)]
    at_once(calls)
    assert CreditEntry.objects.count() == 30
    assert set(Unit.objects.values_list("state", flat=True)) == {"accepted"}


def test_two_last_answers_of_a_comparison_do_not_miss_each_other() -> None:
    lab = Researcher.make()
    lab.job(units=20, copies=2, policy=Policy.COMPARE)
    pair = [Volunteer.make(), Volunteer.make()]
    leases = [v.ask(20).leases for v in pair]
    lab.judge(*[verdict(lease) for each in leases for lease in each])
    at_once([partial(pair[i].ask, done=[done(lease) for lease in leases[i]]) for i in range(2)])
    assert set(Unit.objects.values_list("state", flat=True)) == {"accepted"}
    assert CreditEntry.objects.count() == 40
