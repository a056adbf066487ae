"""What applicants do with their requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.limits import Limit
from accounts.models import Account, Person
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from goblin_wire.states import RequestState
from research_access import mail
from research_access.models import OPEN_STATES, AccessRequest, Kind, Message
from research_access.services import rules
from research_access.services.moves import move
from research_access.text import clean_text

LINES = ("name", "institution", "position", "web_page", "field")
TEXTS = ("purpose", "size")
MARKS = ("kinds", "daily_flops", "no_confidential", "noncommercial")
FIELDS = (*LINES, *TEXTS, *MARKS)
NEEDED = ("name", "institution", "position", "field", "purpose", "size", "kinds")
LABELS = {field.name: field.verbose_name for field in AccessRequest._meta.fields}
MOST = {field.name: field.max_length for field in AccessRequest._meta.fields}
EDITABLE = frozenset({RequestState.DRAFT, RequestState.INFO_ASKED})
TALKING = frozenset({RequestState.SUBMITTED, RequestState.INFO_ASKED})
MESSAGES = Limit("messages about requests", 30, timedelta(hours=1))
BEGUN = Limit("requests that an account begins", 30, timedelta(days=1))
CONTACT = "contact@gpugoblin.com"


def open_request(account: Account) -> AccessRequest | None:
    """The one request of an account that is written or decided on now."""
    return AccessRequest.objects.filter(account=account, state__in=OPEN_STATES).first()


def draft(account: Account) -> AccessRequest:
    """The draft of an account, made if it has none. Raises `AccountSuspended`, or `Conflict` while
    another request is being decided on."""
    person = Person.objects.filter(account=account).first()
    return _drafted(account, {"name": person.name if person else ""})


def apply_again(request: AccessRequest, account: Account) -> AccessRequest:
    """A draft with the answers of a request that is closed; an open draft is left as it is.

    The two confirmations are asked anew. Raises as `draft`, and `NotAllowed`.
    """
    rules.require_applicant(request, account)
    if request.is_open:
        return _drafted(account, {})
    kept = (*LINES, *TEXTS, "kinds", "daily_flops")
    return _drafted(account, {name: getattr(request, name) for name in kept})


def _drafted(account: Account, answers: dict[str, Any]) -> AccessRequest:
    rules.require_active(account)
    found = open_request(account)
    if found is None:
        BEGUN.count(str(account.pk))
        try:
            with transaction.atomic():
                return AccessRequest.objects.create(account=account, **answers)
        except IntegrityError:
            found = open_request(account)
    if found is None or found.state != RequestState.DRAFT:
        raise Conflict(
            _("You have a request that is being decided on; there can be one at a time.")
        )
    return found


@transaction.atomic
def save_draft(
    request: AccessRequest, account: Account, *, version: int | None = None, **fields: Any
) -> AccessRequest:
    """Keep answers that may still be incomplete; `version` is the one that the page shows.

    Raises `NotAllowed` once it was sent (until something is asked), `BadMessage` for what cannot
    be kept, and `Conflict` if another page saved something since.
    """
    row = rules.locked(request)
    rules.require_applicant(row, account)
    if row.state not in EDITABLE:
        raise NotAllowed(_("A request that was sent can only be changed when you are asked."))
    if version is not None and version != row.version:
        raise Conflict(
            _("The request was changed in another window, so what stands here was not saved.")
        )
    answers = cleaned(fields)
    changed = [name for name, value in answers.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, answers[name])
    if changed:
        row.version += 1
        row.changed = timezone.now()
        row.save(update_fields=[*changed, "version", "changed"])
    return row


def cleaned(fields: dict[str, Any]) -> dict[str, Any]:
    """Answers in the form in which they are kept. Raises `BadMessage`."""
    if not fields.keys() <= set(FIELDS):
        raise BadMessage(_("A request has no such field."))
    answers = dict(fields)
    for name in fields.keys() & {*LINES, *TEXTS}:
        answers[name] = _cleaned_text(name, str(fields[name] or ""))
    if not set(answers.get("kinds", ())) <= set(Kind.values):
        raise BadMessage(_("The catalogue has no such kind."))
    if answers.get("daily_flops") is not None:
        rules.require_quota(answers["daily_flops"])
    return answers


def _cleaned_text(name: str, text: str) -> str:
    most = MOST[name] or rules.MAX_TEXT
    kept = clean_name(text, len(text)) if name in LINES else clean_text(text)
    if len(kept) > most:
        raise BadMessage(
            _("“{field}” may have at most {most} characters.").format(field=LABELS[name], most=most)
        )
    return kept


@transaction.atomic
def submit_request(request: AccessRequest, account: Account) -> AccessRequest:
    """Send a draft, or what was asked for, to the reviewers.

    Raises `AccountSuspended`, `NotAllowed` (commercial), `BadMessage` (something is missing) or
    `Conflict` (it was sent already).
    """
    row = rules.locked(request)
    rules.require_applicant(row, account)
    rules.require_active(account)
    if row.state in EDITABLE:
        _require_complete(row)
    row.submitted = row.submitted or timezone.now()
    move(row, RequestState.SUBMITTED, account)
    return row


def _require_complete(row: AccessRequest) -> None:
    if row.noncommercial is False:
        raise NotAllowed(commercial())
    missing = [name for name in NEEDED if not getattr(row, name)]
    if missing:
        names = ", ".join(str(LABELS[name]) for name in missing)
        raise BadMessage(_("Still missing: {names}.").format(names=names))
    if not row.no_confidential or row.noncommercial is None:
        raise BadMessage(_("Two confirmations are needed: no confidential data, not commercial."))
    if row.web_page:
        _require_address(row.web_page)


def _require_address(web_page: str) -> None:
    try:
        URLValidator(schemes=["http", "https"])(web_page)
    except ValidationError:
        raise BadMessage(_("The web page is not an address that begins with https://.")) from None


def commercial() -> str:
    """What somebody reads whose use is commercial."""
    return _(
        "GPU Goblin is free for research and other non-commercial use; volunteers lend their"
        " machines for that. For commercial use write to {address}; this request can't be sent."
    ).format(address=CONTACT)


@transaction.atomic
def withdraw(request: AccessRequest, account: Account) -> AccessRequest:
    """Take a request back. Raises `NotAllowed`, or `Conflict` once it was decided."""
    row = rules.locked(request)
    rules.require_applicant(row, account)
    move(row, RequestState.WITHDRAWN, account)
    return row


def reply(request: AccessRequest, account: Account, text: str) -> Message:
    """A message of the applicant; to a question it is the answer and sends the request back.

    Raises `NotAllowed`, `BadMessage`, `RateLimited`, `Conflict`.
    """
    MESSAGES.count(str(account.pk))
    said = rules.stated(text)
    with transaction.atomic():
        row = rules.locked(request)
        rules.require_applicant(row, account)
        _require_talking(row)
        message = Message.objects.create(request=row, author=account, text=said)
        if row.state == RequestState.INFO_ASKED:
            move(row, RequestState.SUBMITTED, account)
        return message


def tell(request: AccessRequest, reviewer: Account, text: str) -> Message:
    """A message of a reviewer that decides nothing; the applicant gets it by mail as well.

    Raises `NotAllowed`, `BadMessage`, `RateLimited`, `Conflict`.
    """
    MESSAGES.count(str(reviewer.pk))
    said = rules.stated(text)
    with transaction.atomic():
        rules.require_reviewer(reviewer)
        row = rules.locked(request)
        _require_talking(row)
        message = Message.objects.create(request=row, author=reviewer, text=said)
        mail.tell_message(row, message)
        return message


def _require_talking(row: AccessRequest) -> None:
    if row.state not in TALKING:
        raise Conflict(
            _(
                "Messages are read while a request waits for its decision; at other times write to"
                " {address}."
            ).format(address=CONTACT)
        )
