"""What a reviewer should notice about requests; nothing is asked of the database row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Account
from goblin_wire.states import RequestState
from gpugoblin_site import readable
from research_access.admin import freemail, viewing
from research_access.admin.people import address_of, called
from research_access.models import AccessRequest, Decision, Viewing

DECIDED = (RequestState.APPROVED.value, RequestState.DECLINED.value, RequestState.REVOKED.value)


@dataclass(frozen=True)
class Flag:
    """One thing to notice. `kind` is that of a status: info, waiting or refused."""

    code: str
    text: str
    kind: str = "info"


def flags_of(requests: Sequence[AccessRequest], reviewer: Account) -> dict[int, list[Flag]]:
    """The flags of each request, by its number: three queries for a whole page. The accounts'
    persons must be loaded."""
    looking = viewing.others(requests, reviewer)
    same = _of_same_institution(requests)
    lasting = lasting_flags(requests, reviewer, _earlier(requests), same)
    return {row.pk: [*_open(looking.get(row.pk, [])), *lasting[row.pk]] for row in requests}


def lasting_flags(
    requests: Sequence[AccessRequest],
    reviewer: Account,
    earlier: Mapping[int, list[Decision]],
    same: Mapping[str, int],
) -> dict[int, list[Flag]]:
    """All flags but who has a request open. `earlier`: what was decided about requests of each
    account and stands, in its order. `same`: how many accounts name an institution, folded."""
    return {
        row.pk: [
            *_own(row, reviewer),
            *_free_mail(row),
            *_institution(same.get(row.institution_search, 1) - 1),
            *_decided(earlier.get(row.account_id, []), row),
        ]
        for row in requests
    }


def _of_same_institution(requests: Sequence[AccessRequest]) -> dict[str, int]:
    """How many accounts name the institution."""
    names = {row.institution_search for row in requests} - {""}
    rows = naming().filter(institution_search__in=names)
    return dict(rows.values_list("institution_search", "accounts"))


def naming() -> QuerySet[Any, Any]:
    """Institutions, folded, with how many accounts name them in what they have sent."""
    sent = AccessRequest.objects.exclude(state=RequestState.DRAFT.value).order_by()
    return sent.values("institution_search").annotate(accounts=Count("account", distinct=True))


def _earlier(requests: Sequence[AccessRequest]) -> dict[int, list[Decision]]:
    """What was decided about requests of these accounts and stands, by account."""
    found: dict[int, list[Decision]] = {}
    rows = (
        Decision.objects.filter(
            request__account__in={row.account_id for row in requests},
            to_state__in=DECIDED,
            undone_by__isnull=True,
        )
        .select_related("request")
        .only("created", "to_state", "request__account_id")
        .order_by("id")
    )
    for row in rows:
        found.setdefault(row.request.account_id, []).append(row)
    return found


def standing(decisions: Sequence[Decision]) -> list[Decision]:
    """Of all decisions about a person's requests those that decided something and were not undone,
    in their order."""
    undone = {each.undoes_id for each in decisions}
    return [each for each in decisions if each.to_state in DECIDED and each.pk not in undone]


def _open(rows: list[Viewing]) -> list[Flag]:
    if not rows:
        return []
    names = ", ".join(called(row.reviewer) for row in rows)
    return [Flag("open", _("Open with %(names)s") % {"names": names}, "waiting")]


def _own(row: AccessRequest, reviewer: Account) -> list[Flag]:
    if row.account_id != reviewer.pk:
        return []
    return [Flag("own", _("Your own request: a colleague decides"), "waiting")]


def _free_mail(row: AccessRequest) -> list[Flag]:
    address = address_of(row.account)
    if not freemail.is_free(address):
        return []
    domain = freemail.domain_of(address)
    return [Flag("free-mail", _("Free mail address (%(domain)s)") % {"domain": domain})]


def _institution(others: int) -> list[Flag]:
    if others < 1:
        return []
    told = ngettext(
        "%(number)d other person of this institution",
        "%(number)d other persons of this institution",
        others,
    )
    return [Flag("institution", told % {"number": others})]


def _decided(earlier: list[Decision], row: AccessRequest) -> list[Flag]:
    """The last decision on another request of the same person."""
    others = [decision for decision in earlier if decision.request_id != row.pk]
    if not others:
        return []
    last = others[-1]
    when = {"ago": readable.ago(last.created)}
    if last.to_state == RequestState.APPROVED.value:
        return [Flag("earlier", _("Earlier request approved %(ago)s") % when)]
    if last.to_state == RequestState.DECLINED.value:
        return [Flag("earlier", _("Earlier request declined %(ago)s") % when, "refused")]
    return [Flag("earlier", _("Earlier approval revoked %(ago)s") % when, "refused")]
