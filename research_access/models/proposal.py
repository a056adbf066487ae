"""Proposals for the catalogue: what researchers would need, and what was answered."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from gpugoblin_site.fixed_history import FixedHistory


class ProposalState(models.TextChoices):
    OPEN = "open", pgettext_lazy("state of a proposal", "open")
    PLANNED = "planned", pgettext_lazy("state of a proposal", "planned")
    BUILT = "built", pgettext_lazy("state of a proposal", "built")
    DECLINED = "declined", pgettext_lazy("state of a proposal", "declined")
    WITHDRAWN = "withdrawn", pgettext_lazy("state of a proposal", "withdrawn")
    """By its proposer, before anybody had answered."""


PROPOSAL_MOVES: dict[ProposalState, tuple[ProposalState, ...]] = {
    ProposalState.OPEN: (ProposalState.PLANNED, ProposalState.BUILT, ProposalState.DECLINED),
    ProposalState.PLANNED: (ProposalState.BUILT, ProposalState.DECLINED),
    ProposalState.BUILT: (),
    ProposalState.DECLINED: (ProposalState.PLANNED, ProposalState.BUILT),
    ProposalState.WITHDRAWN: (),
}
"""From each state to those that a reviewer can set."""


class Proposal(models.Model):
    """What somebody's research needs of the catalogue. Moved by `research_access.services` only.

    The texts of the proposer are for reviewers alone, and an erasure of the account clears them.
    What everybody reads are the titles, which a reviewer writes.
    """

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="proposals",
        verbose_name=_("account"),
    )
    state = models.CharField(
        _("state"), max_length=16, choices=ProposalState.choices, default=ProposalState.OPEN
    )
    what = models.CharField(_("what is needed"), max_length=200, blank=True, default="")
    purpose = models.TextField(_("what for"), max_length=4000, blank=True, default="")
    reference = models.CharField(_("reference"), max_length=500, blank=True, default="")
    size = models.CharField(_("size"), max_length=500, blank=True, default="")
    title_en = models.CharField(
        _("public title in English"), max_length=200, blank=True, default=""
    )
    title_vi = models.CharField(
        _("public title in Vietnamese"), max_length=200, blank=True, default=""
    )
    created = models.DateTimeField(_("when"), db_default=Now(), editable=False)
    erased = models.DateTimeField(null=True, editable=False)
    """When its texts were cleared because the account was deleted."""

    class Meta:
        verbose_name = _("proposal for the catalogue")
        verbose_name_plural = _("proposals for the catalogue")
        indexes: ClassVar = [
            models.Index(fields=["state", "id"], name="proposal_of_state"),
            models.Index(fields=["account", "id"], name="proposal_of_account"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=ProposalState.values), name="proposal_state_known"
            ),
        ]

    def __str__(self) -> str:
        return gettext("proposal {number}").format(number=self.pk)

    def title(self, language: str) -> str:
        """The public title in a language; English where it is neither."""
        return self.title_vi if language.startswith("vi") else self.title_en


class ProposalMove(FixedHistory):
    """One move of a proposal: who, when, from where to where, with which answer. Append-only, here
    and by a trigger in the database. It names nobody, so it outlives the erasure of an account."""

    id = models.BigAutoField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="moves")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("by")
    )
    from_state = models.CharField(_("from"), max_length=16, choices=ProposalState.choices)
    to_state = models.CharField(_("to"), max_length=16, choices=ProposalState.choices)
    answer = models.TextField(_("answer"), max_length=4000, blank=True, default="")
    created = models.DateTimeField(_("when"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("move of a proposal")
        verbose_name_plural = _("moves of proposals")
        indexes: ClassVar = [models.Index(fields=["proposal", "id"], name="move_of_proposal")]

    def __str__(self) -> str:
        return f"{self.from_state} to {self.to_state}"
