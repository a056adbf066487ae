"""Many rows at once, for tests of what pages cost: straight into the tables."""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

from django.db import models
from django.utils import timezone

from accounts.models import Account, ApiToken, Person, SignIn
from goblin_wire.states import LeaseState, Policy, UnitState
from goblin_wire.tokens import Scope
from gpugoblin_site.mail.models import OutboxMail
from research_access.models import (
    AccessRequest,
    Decision,
    Invitation,
    Lab,
    LabMember,
    Message,
    Proposal,
    ProposalMove,
    SavedReply,
    Viewing,
)
from workunits.models import CreditDay, Device, Host, Job, JobHour, Lease, Standing, Unit

Row = TypeVar("Row", bound=models.Model)
_numbers = itertools.count()
INSTITUTIONS = ("Viện Toán học", "Đại học Huế", "Universität Ulm", "Đại học Đà Nẵng", "CNRS")


def make(model: type[Row], rows: Iterable[dict[str, Any]]) -> list[Row]:
    """Insert them in one statement."""
    return model._default_manager.bulk_create([model(**row) for row in rows])


def accounts(number: int) -> list[Account]:
    """People with names, who can be told apart."""
    made = make(Account, ({} for _ in range(number)))
    make(
        Person,
        (
            {
                "account": account,
                "email": f"nguoi{next(_numbers)}-{secrets.token_hex(3)}@example.org",
                "name": f"Nguyễn Văn {account.pk}",
                "name_search": f"nguyen van {account.pk}",
                "shown_name": f"Người {account.pk}",
            }
            for account in made
        ),
    )
    return made


def requests(number: int, reviewer: Account, state: str = "submitted") -> list[AccessRequest]:
    """Requests of so many people, some with a question, an answer and an older refusal."""
    now = timezone.now()
    made = make(
        AccessRequest,
        (
            {
                "account": account,
                "state": state,
                "name": f"Nguyễn Văn {account.pk}",
                "institution": INSTITUTIONS[index % len(INSTITUTIONS)],
                "institution_search": INSTITUTIONS[index % len(INSTITUTIONS)].lower(),
                "field": "Đại số",
                "purpose": "Tích ma trận. " * 20,
                "kinds": ["products"],
                "size": "40 000",
                "submitted": now - timedelta(hours=index),
            }
            for index, account in enumerate(accounts(number))
        ),
    )
    make(
        Decision,
        (
            {
                "request": r,
                "actor": r.account,
                "from_state": "draft",
                "to_state": "submitted",
                "created": now,
            }
            for r in made
        ),
    )
    make(Message, ({"request": r, "author": reviewer, "text": "Cỡ nào?"} for r in made))
    make(
        AccessRequest,
        ({"account": r.account, "state": "declined", "submitted": now} for r in made[::3]),
    )
    return made


def history(request: AccessRequest, reviewer: Account, number: int) -> None:
    """So many questions of the reviewer, each answered, and a message of either side."""
    now = timezone.now()
    asked, answered = ("submitted", "info_asked"), ("info_asked", "submitted")
    sides = ((reviewer, *asked), (request.account, *answered)) * number
    made = make(
        Decision,
        (
            {
                "request": request,
                "actor": actor,
                "from_state": before,
                "to_state": after,
                "reason": "Cỡ nào?",
                "created": now,
            }
            for actor, before, after in sides
        ),
    )
    make(Message, ({"request": request, "author": who, "text": "Nữa?"} for who, _, _ in sides))
    mails(keys=[f"decision:{decision.pk}" for decision in made])


def viewings(request: AccessRequest, number: int) -> None:
    """Colleagues who have the request open."""
    make(Viewing, ({"request": request, "reviewer": person} for person in accounts(number)))


def replies(number: int) -> None:
    """Saved replies."""
    text = {"text_en": "How large?", "text_vi": "Cỡ nào?"}
    make(SavedReply, ({"title": f"Cỡ {next(_numbers)}"} | text for _ in range(number)))


def sign_ins(number: int) -> None:
    """Programs that wait to be let in."""
    make(
        SignIn,
        (
            {
                "device_hash": secrets.token_hex(32),
                "user_code_hash": secrets.token_hex(32),
                "scope": Scope.LAB.value,
                "program": "goblin-lab 0.1.0",
                "expires": timezone.now() + timedelta(minutes=9),
            }
            for _ in range(number)
        ),
    )


def proposals(number: int, account: Account) -> list[Proposal]:
    """Planned proposals of one person, each with its answer."""
    row = {"account": account, "state": "planned", "what": "Tích thưa", "purpose": "Truyền nhiệt."}
    made = make(Proposal, (row | {"title_en": "Sparse", "title_vi": "Thưa"} for _ in range(number)))
    move = {"actor": account, "from_state": "open", "to_state": "planned", "answer": "Có."}
    make(ProposalMove, (move | {"proposal": each} for each in made))
    return made


def answers(proposal: Proposal, reviewer: Account, number: int) -> None:
    """A proposal that was declined and planned again, so many times."""
    moves = (("planned", "declined"), ("declined", "planned")) * number
    row = {"proposal": proposal, "actor": reviewer, "answer": "Có."}
    make(ProposalMove, (row | {"from_state": a, "to_state": b} for a, b in moves))


def labs(owner: Account, request: AccessRequest, number: int) -> list[Lab]:
    """Labs of one approval."""
    made = make(
        Lab,
        (
            {
                "name": f"Phòng {next(_numbers)}",
                "owner": owner,
                "request": request,
                "daily_flops": 10**15,
            }
            for _ in range(number)
        ),
    )
    make(LabMember, ({"lab": lab, "account": owner, "role": "owner"} for lab in made))
    return made


def members(lab: Lab, number: int) -> None:
    """Members, their tokens, and invitations."""
    people = accounts(number)
    make(LabMember, ({"lab": lab, "account": person, "role": "member"} for person in people))
    tokens(people, lab)
    tokens([lab.owner] * number, lab)
    make(
        Invitation,
        (
            {
                "lab": lab,
                "email": f"khach{next(_numbers)}@example.org",
                "token_hash": secrets.token_hex(32),
                "invited_by": lab.owner,
                "expires": timezone.now() + timedelta(days=5),
            }
            for _ in range(number)
        ),
    )


def tokens(people: Iterable[Account], lab: Lab | None = None) -> None:
    """A token each."""
    make(
        ApiToken,
        (
            {
                "account": person,
                "scope": (Scope.LAB if lab else Scope.VOLUNTEER).value,
                "lab": lab,
                "prefix": secrets.token_hex(6),
                "secret_hash": secrets.token_hex(32),
                "label": "máy",
                "expires": timezone.now() + timedelta(days=9),
            }
            for person in people
        ),
    )


def hosts(account: Account, number: int) -> list[Host]:
    """Machines with two devices each."""
    now = timezone.now()
    made = make(
        Host,
        (
            {
                "account": account,
                "uid": uuid.uuid4(),
                "label": f"máy {next(_numbers)}",
                "version": "goblin-client 0.1.0",
                "last_seen": now - timedelta(minutes=index),
                "accepted": 20,
                "rejected": index % 3,
            }
            for index in range(number)
        ),
    )
    make(
        Device,
        (
            {
                "host": host,
                "name": name,
                "device_class": "x86-64",
                "memory": 2**34,
                "flops_per_s": 1e11,
                "catalogue": 1,
                "last_seen": now,
            }
            for host in made
            for name in ("cpu", "gpu0")
        ),
    )
    return made


def jobs(lab: Lab, number: int) -> list[Job]:
    """Jobs with what they did in two hours."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    made = make(
        Job,
        (
            {
                "lab": lab,
                "uid": uuid.uuid4(),
                "kind": "product",
                "units": 16,
                "registered": 16,
                "flops": 10**15,
                "state": ("open", "finished", "cancelled")[index % 3],
            }
            for index in range(number)
        ),
    )
    make(
        JobHour,
        (
            {
                "job": job,
                "hour": hour - timedelta(hours=back),
                "units": 4,
                "flops": 10**14,
                "input_bytes": 2**30,
                "output_bytes": 2**22,
                "put_aside": 0,
            }
            for job in made
            for back in (0, 1)
        ),
    )
    return made


def units(job: Job, hosts: Iterable[Host]) -> list[Unit]:
    """A verified unit of a job for each machine, with its lease; every third was refused."""
    made = []
    for index, host in enumerate(hosts):
        refused = index % 3 == 2
        unit = Unit.objects.create(
            job=job,
            lab_id=job.lab_id,
            uid=uuid.uuid4(),
            position=index,
            manifest="0" * 64,
            flops=10**12,
            memory=2**20,
            input_bytes=2**20,
            output_bytes=2**16,
            policy=Policy.CHECK.value,
            catalogue=1,
            copies=1,
            state=UnitState.QUARANTINED.value if refused else UnitState.ACCEPTED.value,
            wanted=0,
            issued=1,
            code="residual" if refused else "ok",
        )
        Lease.objects.create(
            id=uuid.uuid4(),
            unit=unit,
            account_id=host.account_id,
            host=host,
            copy=0,
            device="cpu",
            state=LeaseState.REJECTED.value if refused else LeaseState.ACCEPTED.value,
            code="residual" if refused else "ok",
            created=timezone.now(),
        )
        made.append(unit)
    return made


def credit(people: Iterable[Account], days: int) -> None:
    """So many days of verified work, and the standing that comes of it."""
    today = timezone.now().date()
    chosen = list(people)
    make(
        CreditDay,
        (
            {
                "account": person,
                "day": today - timedelta(days=back),
                "kind": "product",
                "flops": 10**15 + back,
                "units": 3,
            }
            for person in chosen
            for back in range(days)
        ),
    )
    for person in chosen:
        Standing.objects.update_or_create(
            account=person, defaults={"accepted": 3 * days, "flops": 1e15 * days}
        )


def mails(number: int = 0, keys: Iterable[str] = ()) -> None:
    """Mails that have left."""
    others = (f"mail-{next(_numbers)}-{secrets.token_hex(4)}" for _ in range(number))
    make(
        OutboxMail,
        (
            {
                "key": key,
                "address": "ai@example.org",
                "language": "vi",
                "template": "code",
                "subject": "Mã",
                "body": "",
                "state": "sent",
                "due": timezone.now(),
            }
            for key in (*keys, *others)
        ),
    )
