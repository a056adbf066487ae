"""My labs, and one lab's page."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Account
from goblin_wire.problems import Conflict, Problem
from goblin_wire.states import RequestState
from gpugoblin_site.pages.code import lab_commands
from gpugoblin_site.sentences import SENTENCES, of_code, told
from research_access import services
from research_access.forms import InvitationForm, LabForm, ShareForm, TokenForm, flops_of
from research_access.models import AccessRequest, Lab, LabMember, LabRole, LabState
from research_access.pages.common import account_of, attempt, page, posted
from research_access.quota import Quota, quotas
from research_access.services.tokens import own_tokens
from workunits.models import LabNode

MEMBERS_SHOWN = 20


class Listed(NamedTuple):
    """A lab in the list."""

    lab: Lab
    role: str
    members: int
    quota: Quota
    node: LabNode | None


@page
@require_http_methods(["GET", "HEAD", "POST"])
def my_labs(request: HttpRequest) -> HttpResponse:
    """The labs that the reader belongs to; a new one is opened here."""
    account = account_of(request)
    if request.method == "POST":
        return _opened(request, account)
    return _labs_page(request, account, LabForm())


def _opened(request: HttpRequest, account: Account) -> HttpResponse:
    form = LabForm(request.POST)
    if not form.is_valid():
        return _labs_page(request, account, form, status=422)
    name = form.cleaned_data["name"]
    try:
        lab = services.create_lab(account, name, flops_of(form.cleaned_data["daily_pflop"]))
    except Conflict as problem:
        # The same form twice opens one lab; another lab of this name is a matter for the reader.
        messages.info(request, told(problem))
        return redirect("labs")
    except Problem as problem:
        form.add_error(None, told(problem))
        return _labs_page(request, account, form, status=problem.status)
    messages.success(request, _("The lab is open. Connect its node next."))
    return redirect("lab", lab.key)


def _labs_page(
    request: HttpRequest, account: Account, form: LabForm, *, status: int = 200
) -> HttpResponse:
    approved = list(
        AccessRequest.objects.filter(account=account, state=RequestState.APPROVED.value)
    )
    facts = {
        "labs": _listed(account),
        "form": form,
        "left": max(services.flops_left(approved).values(), default=0),
        "is_approved": bool(approved),
    }
    return render(request, "research_access/labs.html", facts, status=status)


def _listed(account: Account) -> list[Listed]:
    """Four queries, however many labs there are."""
    memberships = list(
        LabMember.objects.filter(account=account).select_related("lab").order_by("lab__name", "id")
    )
    labs = [row.lab for row in memberships]
    used = quotas(labs)
    nodes = {node.lab_id: node for node in LabNode.objects.filter(lab__in=labs)}
    counts = dict(
        LabMember.objects.filter(lab__in=labs).values_list("lab").annotate(Count("id")).order_by()
    )
    return [
        Listed(lab, row.get_role_display(), counts[lab.pk], used[lab.pk], nodes.get(lab.pk))
        for row, lab in zip(memberships, labs, strict=True)
    ]


def membership(request: HttpRequest, key: UUID) -> LabMember:
    """The reader's membership of a lab; the labs of others do not exist for them."""
    found = (
        LabMember.objects.filter(lab__key=key, account=account_of(request))
        .select_related("lab")
        .first()
    )
    if found is None:
        raise Http404
    return found


@page
@require_safe
def one_lab(request: HttpRequest, key: UUID) -> HttpResponse:
    """One lab: its node, its quota, its people, the reader's tokens for it."""
    return lab_page(request, membership(request, key))


def lab_page(
    request: HttpRequest, member: LabMember, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page of a lab; `more` holds a form with errors or a token to show."""
    lab = member.lab
    is_owner = member.role == LabRole.OWNER
    node = LabNode.objects.filter(lab=lab).first()
    facts = {
        "lab": lab,
        "me": member,
        "is_owner": is_owner,
        "is_active": lab.state == LabState.ACTIVE,
        "members": _members(request, lab),
        "invitations": _pending(lab) if is_owner else [],
        "tokens": own_tokens(lab, member.account),
        "quota": quotas([lab])[lab.pk],
        "node": node,
        "unreachable": _unreachable(node),
        "commands": lab_commands(settings.GOBLIN_SITE_URL),
        "invitation_form": InvitationForm(),
        "token_form": TokenForm(),
        "share_form": ShareForm(),
    }
    return render(request, "research_access/lab.html", facts | more, status=status)


def _members(request: HttpRequest, lab: Lab) -> Page[LabMember]:
    """One page of the members, the longest ones first."""
    rows = lab.members.select_related("account__person").order_by("id")
    return Paginator(rows, MEMBERS_SHOWN).get_page(request.GET.get("page"))


def _unreachable(node: LabNode | None) -> str:
    """Why volunteers can't reach a lab's node; empty where they can or nobody has tried."""
    if node is None or node.reachable or node.probe_code not in SENTENCES:
        return ""
    is_english = (get_language() or "en").startswith("en")
    return node.probe_reason if is_english else of_code(node.probe_code)


def _pending(lab: Lab) -> Any:
    return lab.invitations.filter(expires__gt=timezone.now()).order_by("id")


@posted("lab")
def share(request: HttpRequest, key: UUID) -> HttpResponse:
    """Give a lab more or less of what was approved."""
    member = membership(request, key)
    form = ShareForm(request.POST)
    if not form.is_valid():
        return lab_page(request, member, share_form=form, status=422)
    flops = flops_of(form.cleaned_data["daily_pflop"]) or 0
    attempt(
        request,
        lambda: services.share_quota(member.lab, account_of(request), flops),
        _("The share of the lab was changed."),
    )
    return redirect("lab", key)
