"""Who belongs to a lab: inviting, roles, leaving."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access import services
from research_access.forms import InvitationForm
from research_access.models import LabMember, LabRole
from research_access.pages.common import account_of, attempt, posted
from research_access.pages.labs import lab_page, membership

ROLES = {"owner": LabRole.OWNER, "member": LabRole.MEMBER}


@posted("lab")
def invite(request: HttpRequest, key: UUID) -> HttpResponse:
    """Send an invitation to an address."""
    member = membership(request, key)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return lab_page(request, member, invitation_form=form, status=422)
    email = form.cleaned_data["email"]
    try:
        services.invite(member.lab, email, account_of(request))
    except Problem as problem:
        form.add_error("email", told(problem))
        return lab_page(request, member, invitation_form=form, status=problem.status)
    messages.success(request, _("An invitation goes to {address}.").format(address=email))
    return redirect("lab", key)


@posted("lab")
def take_back(request: HttpRequest, key: UUID, number: int) -> HttpResponse:
    """End an invitation that nobody has accepted yet."""
    member = membership(request, key)
    found = member.lab.invitations.filter(pk=number).first()
    if found is not None:
        attempt(
            request,
            lambda: services.take_back_invitation(found, account_of(request)),
            _("The invitation was taken back."),
        )
    return redirect("lab", key)


@posted("lab")
def change(request: HttpRequest, key: UUID, number: int) -> HttpResponse:
    """Change the role of a member, or end a membership."""
    me = membership(request, key)
    other = LabMember.objects.select_related("account").filter(lab=me.lab, pk=number).first()
    if other is None:
        return redirect("lab", key)
    act = request.POST.get("action", "")
    if act == "remove":
        attempt(
            request,
            lambda: services.remove_member(me.lab, other.account, by=me.account),
            _("The membership has ended, and the tokens that went with it."),
        )
    elif act in ROLES:
        attempt(
            request,
            lambda: services.set_role(me.lab, other.account, ROLES[act], by=me.account),
            _("The role was changed."),
        )
    else:
        raise Http404
    return redirect("lab", key)


@posted("lab")
def leave(request: HttpRequest, key: UUID) -> HttpResponse:
    """End one's own membership."""
    me = membership(request, key)
    left = attempt(
        request,
        lambda: services.leave_lab(me.lab, me.account),
        _("You have left the lab; your tokens for it work no longer."),
    )
    return redirect("labs") if left else redirect("lab", key)
