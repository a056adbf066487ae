"""A small world for tests: a lab whose node is there, volunteers, and what they say."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from accounts.authentication import Principal
from accounts.models import Account
from accounts.services import create_account
from goblin_wire import codec
from goblin_wire.capability import SigningKey
from goblin_wire.exchange import Done, ExchangeReply, ExchangeRequest, Lease, Want
from goblin_wire.lab import (
    EventsReply,
    EventsRequest,
    JobRegistration,
    UnitBatch,
    UnitRegistration,
    Verdict,
    VerdictBatch,
    VerdictReply,
    Window,
)
from goblin_wire.protocol import PROTOCOL
from goblin_wire.states import Policy, VerdictKind
from research_access.models import AccessRequest, Lab, LabMember
from workunits import events, exchange, registration, verdicts
from workunits.models import LabNode

MIB = 1024 * 1024
_numbers = itertools.count()


def hex_id() -> str:
    return secrets.token_hex(16)


def digest(text: str) -> str:
    return (text.encode().hex() + "0" * 64)[:64]


def make_account() -> Account:
    return create_account(f"person{next(_numbers)}-{secrets.token_hex(4)}@example.org")


@dataclass
class Researcher:
    """A lab and its node, as the site sees them."""

    lab: Lab
    principal: Principal
    key: SigningKey
    window: Window = field(default_factory=lambda: Window(units=10_000, bytes=2**50))
    cursor: str = ""

    @classmethod
    def make(cls, *, daily_flops: int = 10**18, online: bool = True) -> Researcher:
        owner = make_account()
        request = AccessRequest.objects.create(account=owner, state="approved")
        lab = Lab.objects.create(
            name=f"lab {next(_numbers)}", owner=owner, request=request, daily_flops=daily_flops
        )
        LabMember.objects.create(lab=lab, account=owner, role="owner")
        researcher = cls(
            lab, Principal(owner.pk, owner.key, 0, lab.pk, lab.key), SigningKey.generate()
        )
        if online:
            researcher.come_online()
        return researcher

    def come_online(self) -> None:
        LabNode.objects.create(
            lab=self.lab,
            public_key=self.key.public,
            endpoint="http://127.0.0.1:9",
            last_seen=timezone.now(),
            window_units=self.window.units,
            window_bytes=self.window.bytes,
            reachable=True,
            probe_code="ok",
        )

    def job(self, units: int = 1, **changes: Any) -> JobRegistration:
        message = JobRegistration(job=hex_id(), kind="product", units=units, flops=1000 * units)
        registration.register_job(self.lab.pk, message)
        self.register(message.job, [unit(index, **changes) for index in range(units)])
        return message

    def register(self, job: str, units: list[UnitRegistration]) -> None:
        registration.register_units(self.lab.pk, UUID(hex=job), UnitBatch(units=units))

    def events(self, limit: int = 500) -> EventsReply:
        reply = events.read(
            self.principal,
            EventsRequest(protocol=PROTOCOL, cursor=self.cursor, window=self.window, limit=limit),
        )
        self.cursor = reply.cursor
        return reply

    def judge(self, *given: Verdict) -> VerdictReply:
        batch = VerdictBatch(protocol=PROTOCOL, verdicts=list(given))
        body = codec.encode(batch)
        return verdicts.take(self.lab.pk, batch, body, self.key.sign(body).hex())


def unit(index: int = 0, **changes: Any) -> UnitRegistration:
    fields: dict[str, Any] = {
        "unit": hex_id(),
        "index": index,
        "manifest": digest(f"manifest {index}"),
        "flops": 1000,
        "memory": MIB,
        "input_bytes": 1000,
        "output_bytes": 1000,
        "policy": Policy.CHECK,
    }
    return UnitRegistration(**{**fields, **changes})


def verdict(lease: Lease, kind: VerdictKind = VerdictKind.ACCEPTED, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "lease": lease.lease,
        "unit": lease.unit,
        "verdict": kind,
        "outputs": [digest(lease.unit)],
    }
    return Verdict(**{**fields, **changes})


def done(lease: Lease, **changes: Any) -> Done:
    fields: dict[str, Any] = {
        "lease": lease.lease,
        "outputs": [digest(lease.unit)],
        "bytes": lease.output_bytes,
    }
    return Done(**{**fields, **changes})


@dataclass
class Volunteer:
    """One host of an account."""

    principal: Principal
    host: str = field(default_factory=hex_id)
    seq: int = 0
    nonce: str = ""
    last: ExchangeRequest | None = None

    @classmethod
    def make(cls, *, seasoned: bool = True) -> Volunteer:
        account = make_account()
        if seasoned:
            season(account.pk)
        return cls(Principal(account.pk, account.key, 0))

    def another_host(self) -> Volunteer:
        return Volunteer(self.principal)

    def ask(self, units: int = 0, *, memory: int = 64 * MIB, **message: Any) -> ExchangeReply:
        """One exchange; `units` are wanted for the CPU."""
        wants = [want(units, memory=memory)] if units else []
        self.seq += 1
        self.last = ExchangeRequest(
            **{
                "protocol": PROTOCOL,
                "host": self.host,
                "seq": self.seq,
                "nonce": secrets.token_hex(8),
                "want": wants,
                **message,
            }
        )
        return exchange.exchange(self.principal, self.last)

    def repeat(self) -> ExchangeReply:
        assert self.last is not None
        return exchange.exchange(self.principal, self.last)


def want(units: int = 1, **changes: Any) -> Want:
    fields: dict[str, Any] = {
        "device": "cpu",
        "units": units,
        "seconds": 3600.0,
        "memory": 64 * MIB,
        "catalogue": 1,
        "flops_per_s": 1e9,
    }
    return Want(**{**fields, **changes})


def season(account: int) -> None:
    """Let the account have had its first units verified."""
    from workunits.models import Standing

    Standing.objects.update_or_create(account_id=account, defaults={"accepted": 100, "proven": 100})
