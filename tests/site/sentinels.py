"""A person whose name, address and machine are looked for in every place that could hold them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import factors, login, services
from accounts.models import Account, Person, Session, SignIn
from accounts.tests.browsing import ask, fields
from goblin_wire.tokens import Scope
from gpugoblin_site.mail import delivery, outbox
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access import services as access
from research_access.management.commands.make_network_people import COMPLETE
from research_access.models import Lab, LabRole, ProposalState
from research_access.services import proposals
from workunits.models import (
    CreditDay,
    CreditEntry,
    Device,
    Host,
    LabNode,
    Lease,
    Standing,
    Verdict,
    VerdictBatch,
)

ADDRESS = "zebrina@quagga.example.org"
NAME = "Zebrina Quaggová"
SHOWN = "ZebraLeader"
MACHINE = "zebra-workstation"
TOKEN_LABEL = "zebra-token"
NETWORK = "203.0.113.77"
ENDPOINT = "https://203.0.113.78:7443"
TOLD = ("zebra", "quagga", "zebrina", "203.0.113.7")
"""In lower case; any of them tells who the person is."""
FLOPS = 10**15
LEASE = uuid.UUID("00000000-0000-7000-8000-00000000abcd")


class World:
    """Everything that the site can come to hold about one person, and about those around."""

    def __init__(self) -> None:
        self.reviewer = services.make_operator("reviewer@example.org")
        self.colleague = services.create_account("colleague@example.org")
        self.account = services.create_account(ADDRESS, name=NAME, language="vi")
        Person.objects.filter(account=self.account).update(shown_name=SHOWN)
        self.account.refresh_from_db()
        self.browser = self._logged_in()
        self._signs_in()
        self._researches()
        self._proposes()
        self._computes()
        self._gets_mail()
        self._is_looked_after()

    def _logged_in(self) -> Client:
        browser = Client(REMOTE_ADDR=NETWORK, headers={"user-agent": "Zebra/1.0 (X11; Linux)"})
        code = login.operators_code(self.account)
        page = ask(browser, ADDRESS)
        browser.post("/login/code/", fields(page) | {"code": code})
        assert Session.objects.filter(account=self.account).exists()
        ask(Client(REMOTE_ADDR=NETWORK), ADDRESS)  # an attempt that nobody finished
        login.operators_code(self.account)
        return browser

    def _signs_in(self) -> None:
        services.issue_token(self.account, Scope.VOLUNTEER, label=TOKEN_LABEL)
        factors.set_up(self.account, "JBSWY3DPEHPK3PXP")
        SignIn.objects.create(
            device_hash="d",
            user_code_hash="u",
            scope=Scope.VOLUNTEER.value,
            program="goblin-client",
            label=MACHINE,
            account=self.account,
            expires=timezone.now(),
        )

    def _researches(self) -> None:
        request = access.draft(self.account)
        answers = COMPLETE | {
            "name": NAME,
            "institution": "Quagga Institute",
            "web_page": "https://quagga.example.org/~zebrina",
            "purpose": "What Zebrina computes.",
        }
        access.save_draft(request, self.account, **answers)
        access.submit_request(request, self.account)
        access.reply(request, self.account, "Yours, Zebrina")
        access.tell(request, self.reviewer, "Dear Zebrina")
        access.approve(request, self.reviewer)
        self.lab = access.create_lab(self.account, "Zebrina's lab", FLOPS)
        access.invite(self.lab, "guest@example.org", self.account)
        LabNode.objects.create(
            lab=self.lab, public_key="p", endpoint=ENDPOINT, last_seen=timezone.now()
        )
        again = access.apply_again(request, self.account)
        access.save_draft(again, self.account, purpose="More of what Zebrina computes.")
        self._shares_labs()

    def _proposes(self) -> None:
        proposal = proposals.propose(
            self.account, what="Stripes of zebras", purpose="Zebrina's work", reference="quagga"
        )
        answer = proposals.Answer(ProposalState.DECLINED, "Not for now.")
        proposals.answer_proposal(proposal, self.reviewer, answer)

    def _shares_labs(self) -> None:
        """A lab of somebody else that the person is in, one that a colleague inherits, and an
        invitation that waits for the person."""
        other = access.draft(self.colleague)
        access.save_draft(other, self.colleague, **COMPLETE)
        access.submit_request(other, self.colleague)
        access.approve(other, self.reviewer)
        self.shared = access.create_lab(self.colleague, "Shared lab", FLOPS)
        access.add_member(self.shared, self.account, by=self.colleague)
        self.inherited = access.create_lab(self.account, "Inherited lab", FLOPS)
        access.add_member(self.inherited, self.colleague, by=self.account)
        access.set_role(self.inherited, self.colleague, LabRole.OWNER, by=self.account)
        third = access.create_lab(self.colleague, "Third lab", FLOPS)
        access.invite(third, ADDRESS, self.colleague)

    def _computes(self) -> None:
        now = timezone.now()
        host = Host.objects.create(
            account=self.account, uid=uuid.uuid4(), label=MACHINE, last_seen=now
        )
        Device.objects.create(
            host=host, name="cpu", memory=1, flops_per_s=1.0, catalogue=1, last_seen=now
        )
        Lease.objects.create(
            id=LEASE,
            unit_id=1,
            account=self.account,
            host=host,
            copy=0,
            device="cpu",
            state="accepted",
            created=now,
        )
        batch = VerdictBatch.objects.create(
            lab=self.shared, digest="d", signature="s", public_key="p", received=now
        )
        Verdict.objects.create(
            lease_id=LEASE, batch=batch, kind="accepted", outputs=["o"], policy="check"
        )
        CreditEntry.objects.create(
            account=self.account, lab=self.shared, lease_id=LEASE, flops=2**60, created=now
        )
        CreditDay.objects.create(
            account=self.account, day=now.date(), kind="matmul", flops=2**60, units=1
        )
        Standing.objects.create(account=self.account, accepted=1, flops=2.0**60)

    def _gets_mail(self) -> None:
        delivery.deliver_due()
        outbox.queue(self.account, "check", {}, key="check:waiting", delay=timedelta(days=1))
        back = outbox.queue(ADDRESS, "check", {}, key="check:back")
        OutboxMail.objects.filter(pk=back.pk).update(
            state=MailState.BOUNCED, detail=f"550 <{ADDRESS}>: unknown user"
        )
        other = outbox.queue(self.colleague, "check", {}, key="check:other")
        OutboxMail.objects.filter(pk=other.pk).update(detail=f"452 {ADDRESS} has too much mail")

    def _is_looked_after(self) -> None:
        """What the admin's log keeps of an operator's work on this person."""
        for row in (self.account.person, self.account, self.lab, self.lab.request):
            LogEntry.objects.create(
                user=self.reviewer,
                content_type=ContentType.objects.get_for_model(row),
                object_id=str(row.pk),
                object_repr=str(row),
                action_flag=CHANGE,
                change_message=f"Seen: {NAME}",
            )
        LogEntry.objects.create(
            user=self.reviewer,
            object_id="0",
            object_repr="another thing",
            action_flag=CHANGE,
            change_message=f"Wrote to {ADDRESS}",
        )


def dump() -> str:
    """Every row of every table as `pg_dump` would write it, and what sessions hold, readable."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
        parts = []
        for table in tables:
            with cursor.cursor.copy(f'COPY "{table}" TO STDOUT') as rows:
                parts.append(table + "\n" + b"".join(rows).decode())
    parts += [str(session.get_decoded()) for session in Session.objects.all()]
    return "\n".join(parts)


def told(text: str) -> list[str]:
    """Lines that tell who the person is."""
    lines = text.lower().splitlines()
    return [line for line in lines if any(word in line for word in TOLD)]


def database_log() -> str:
    """What the embedded PostgreSQL has written."""
    return (Path(settings.GOBLIN_DATABASE_DIR) / "postgres.log").read_text(errors="replace")


def tables_about_people() -> set[str]:
    """Models that lead to an account or have a column for an address."""
    found = set()
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            leads = field.is_relation and field.related_model is Account
            if leads or "mail" in field.name or field.name == "address":
                found.add(model._meta.label)
    return found


__all__ = ["Lab", "World", "database_log", "dump", "tables_about_people", "told"]
