"""Verdicts as signed by labs, the credit ledger, and the standing of accounts."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import Policy, VerdictKind
from workunits.models.base import one_of, soft_link


class VerdictBatch(models.Model):
    """One signed message of verdicts: enough to prove later who said it."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey("research_access.Lab", models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    """BLAKE3 of the signed body."""
    signature = models.CharField(max_length=128)
    public_key = models.CharField(max_length=64)
    received = models.DateTimeField()

    class Meta:
        verbose_name = _("batch of verdicts")
        verbose_name_plural = _("batches of verdicts")

    def __str__(self) -> str:
        return gettext("batch of verdicts %(id)s") % {"id": self.id}


class Verdict(models.Model):
    """What a lab found about one lease; the first verdict on a lease stands."""

    lease_id = models.UUIDField(primary_key=True)
    batch = soft_link("workunits.VerdictBatch")
    kind = models.CharField(max_length=16)
    outputs = ArrayField(models.CharField(max_length=64))
    code = models.CharField(max_length=40, default="ok")
    reason = models.CharField(max_length=500, default="")
    policy = models.CharField(max_length=16)
    residual = models.FloatField(null=True)
    repaired_rows = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            one_of("kind", VerdictKind, table="verdict"),
            one_of("policy", Policy, table="verdict"),
        ]

    def __str__(self) -> str:
        return f"verdict on lease {self.lease_id}"


class CreditKind(StrEnum):
    VERIFIED = "verified"
    CORRECTION = "correction"


class CreditEntry(models.Model):
    """The ledger. Rows are only added: the database refuses to change or delete one."""

    id = models.BigAutoField(primary_key=True)
    account = soft_link("accounts.Account")
    lab = soft_link("research_access.Lab")
    lease_id = models.UUIDField()
    kind = models.CharField(max_length=16, default=CreditKind.VERIFIED)
    flops = models.BigIntegerField()
    created = models.DateTimeField()

    class Meta:
        verbose_name = _("entry of the ledger")
        verbose_name_plural = _("ledger of credit")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lease_id", "kind"], name="credit_once"),
            one_of("kind", CreditKind, table="credit"),
        ]

    def __str__(self) -> str:
        return gettext("entry %(id)s of the ledger") % {"id": self.id}


class CreditDay(models.Model):
    """The ledger's sums by account, day (UTC) and kind of computation.

    Written by the statement that writes the ledger, so the two cannot differ.
    """

    id = models.BigAutoField(primary_key=True)
    account = soft_link("accounts.Account")
    day = models.DateField()
    kind = models.CharField(max_length=32)
    flops = models.DecimalField(max_digits=60, decimal_places=0)
    """A hundred devices of one account pass 2**63 in a day."""
    units = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "day", "kind"], name="creditday_once")
        ]

    def __str__(self) -> str:
        return f"{self.flops} flops of {self.kind} for account {self.account_id} on {self.day}"


class Standing(models.Model):
    """An account's figures: how much it gets at a time, and what its status page shows."""

    account = models.OneToOneField("accounts.Account", models.CASCADE, primary_key=True)
    accepted = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    proven = models.BigIntegerField(default=0)
    """Accepted since the last rejected result; few of them and the account gets few units."""
    flops = models.FloatField(default=0.0)
    """Verified flops credited; the ledger decides, this is its running sum."""
    failed_in_row = models.IntegerField(default=0)
    failed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("figures of an account")
        verbose_name_plural = _("figures of accounts")

    def __str__(self) -> str:
        return gettext("figures of account %(id)s") % {"id": self.account_id}
