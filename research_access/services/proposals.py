"""Proposals for the catalogue: made by anybody with an account, answered by reviewers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.limits import Limit
from accounts.models import Account
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from research_access import mail
from research_access.models import PROPOSAL_MOVES, Proposal, ProposalMove, ProposalState
from research_access.services import rules
from research_access.text import clean_text

PROPOSAL_LINES = ("what", "reference", "size")
PROPOSAL_TEXTS = ("purpose",)
PROPOSED = Limit("proposals for the catalogue", 20, timedelta(days=1))
MOST_OPEN = 20
"""Proposals of one account that wait for an answer."""
_MOST = {field.name: field.max_length or rules.MAX_TEXT for field in Proposal._meta.fields}
_LABELS = {field.name: field.verbose_name for field in Proposal._meta.fields}


@dataclass(frozen=True)
class Answer:
    """What a reviewer makes of a proposal. Everybody reads the titles, the proposer the text."""

    to: ProposalState
    text: str
    title_en: str = ""
    title_vi: str = ""


def propose(
    account: Account, *, what: str, purpose: str, reference: str = "", size: str = ""
) -> Proposal:
    """Keep a proposal; the same text a second time is the one that waits already.

    Raises `AccountSuspended`, `RateLimited`, or `BadMessage` for what is missing or too long, and
    where too many wait.
    """
    rules.require_active(account)
    given = {"what": what, "purpose": purpose, "reference": reference, "size": size}
    texts = {name: _bounded(name, text) for name, text in given.items()}
    for name in ("what", "purpose"):
        if not texts[name]:
            raise BadMessage(_("Still missing: {names}.").format(names=_LABELS[name]))
    PROPOSED.count(str(account.pk))
    return _kept(account, texts)


@transaction.atomic
def _kept(account: Account, texts: dict[str, str]) -> Proposal:
    # Of two windows one waits here, so that neither misses what the other has sent.
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    mine = Proposal.objects.filter(account=account, state=ProposalState.OPEN)
    known = mine.filter(**texts).first()
    if known is not None:
        return known
    if mine.count() >= MOST_OPEN:
        raise BadMessage(
            _("{most} proposals of yours wait for an answer; write on once some were read.").format(
                most=MOST_OPEN
            )
        )
    return Proposal.objects.create(account=account, **texts)


def locked_proposal(number: int) -> Proposal:
    """The row as it is now, held until the transaction ends."""
    return Proposal.objects.select_for_update(of=("self",)).select_related("account").get(pk=number)


@transaction.atomic
def withdraw_proposal(proposal: Proposal, account: Account) -> None:
    """Take a proposal back that nobody has answered; one that is withdrawn stays so.

    Raises `AccountSuspended`, `NotAllowed` for one of somebody else, or `Conflict` once a reviewer
    has answered.
    """
    rules.require_active(account)
    row = locked_proposal(proposal.pk)
    if row.account_id != account.pk:
        raise NotAllowed(_("Only its proposer can withdraw a proposal."))
    if row.state == ProposalState.OPEN:
        record_move(row, account, ProposalState.WITHDRAWN)
    elif row.state != ProposalState.WITHDRAWN:
        raise _unmoved(row)


@transaction.atomic
def answer_proposal(proposal: Proposal, reviewer: Account, answer: Answer) -> ProposalMove:
    """Move a proposal and mail the answer in the proposer's language.

    Raises `NotAllowed`, `BadMessage` (no text; no title for a state that everybody reads of; a text
    that names one of the two), or `Conflict` where the state has no such move.
    """
    rules.require_reviewer(reviewer)
    row = locked_proposal(proposal.pk)
    checked = checked_answer(row, reviewer, answer)
    if checked.to in (ProposalState.PLANNED, ProposalState.BUILT):
        row.title_en, row.title_vi = checked.title_en, checked.title_vi
    move = record_move(row, reviewer, checked.to, checked.text)
    mail.tell_proposal(row, move)
    return move


def checked_answer(row: Proposal, reviewer: Account, answer: Answer) -> Answer:
    """The answer as it would be kept. Raises as `answer_proposal`."""
    if answer.to not in PROPOSAL_MOVES[ProposalState(row.state)]:
        raise _unmoved(row)
    text = rules.stated(answer.text)
    titles = [_bounded(name, getattr(answer, name)) for name in ("title_en", "title_vi")]
    if answer.to != ProposalState.DECLINED and not all(titles):
        raise BadMessage(_("A public title is needed in both languages: the catalogue shows it."))
    for said in (text, *titles):
        rules.require_unnamed(said, [row.account_id, reviewer.pk])
    return Answer(answer.to, text, *titles)


def require_moves(row: Proposal) -> None:
    """Raise `Conflict` where no reviewer can move a proposal any more."""
    if not PROPOSAL_MOVES[ProposalState(row.state)]:
        raise _unmoved(row)


def record_move(row: Proposal, actor: Account, to: ProposalState, text: str = "") -> ProposalMove:
    """Set the state of a locked proposal and write it down."""
    move = ProposalMove(
        proposal=row,
        actor=actor,
        from_state=row.state,
        to_state=to.value,
        answer=text,
        created=timezone.now(),
    )
    row.state = to.value
    row.save(update_fields=["state", "title_en", "title_vi"])
    move.save()
    return move


def planned_proposals(most: int) -> list[Proposal]:
    """What is planned, the oldest first, with nothing that its proposer wrote."""
    shown = Proposal.objects.filter(state=ProposalState.PLANNED).exclude(title_en="")
    return list(shown.only("id", "title_en", "title_vi").order_by("id")[:most])


def _unmoved(row: Proposal) -> Conflict:
    state = ProposalState(row.state).label
    return Conflict(_("Nothing was changed: the proposal is {state}.").format(state=state))


def _bounded(name: str, text: str) -> str:
    kept = clean_text(text) if name in PROPOSAL_TEXTS else clean_name(text, len(text))
    if len(kept) > _MOST[name]:
        raise BadMessage(
            _("“{field}” may have at most {most} characters.").format(
                field=_LABELS[name], most=_MOST[name]
            )
        )
    return kept
