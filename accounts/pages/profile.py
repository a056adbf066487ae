"""The account page: who one is here, which browsers are logged in, which tokens programs hold."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import browsers, factors, services
from accounts.addresses import shown
from accounts.forms import ProfileForm
from accounts.models import Account, ApiToken, Person
from accounts.pages.common import account_of, posted

PROFILE = ("name", "shown_name", "language", "time_zone")
TOKENS_SHOWN = 100


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account_page(request: HttpRequest) -> HttpResponse:
    account = account_of(request)
    person = get_object_or_404(Person, account=account)
    if request.method == "POST":
        form = ProfileForm(request.POST)
        if form.is_valid():
            _save(person, form)
            with translation.override(person.language):
                messages.success(request, gettext("Saved."))
            return redirect("account")
    else:
        form = ProfileForm(initial={name: getattr(person, name) for name in PROFILE})
    return _page(request, account, form)


def _save(person: Person, form: ProfileForm) -> None:
    for name in PROFILE:
        setattr(person, name, form.cleaned_data[name])
    person.save(update_fields=list(PROFILE))


def _page(request: HttpRequest, account: Account, form: ProfileForm) -> HttpResponse:
    facts = {
        "form": form,
        "person": account.person,
        "email": shown(account.person.email),
        "sessions": browsers.of_account(account, request),
        "tokens": _tokens(account),
        "second_factor": factors.of_account(account),
    }
    return render(request, "accounts/account.html", facts, status=400 if form.errors else 200)


def _tokens(account: Account) -> list[ApiToken]:
    """Those that open something; the newest first."""
    good = account.tokens.filter(revoked__isnull=True, expires__gt=timezone.now())
    return list(good.select_related("lab").order_by("-created")[:TOKENS_SHOWN])


@posted
def end_session(request: HttpRequest, key: str) -> HttpResponse:
    browsers.end(account_of(request), key)
    return redirect("account")


@posted
def log_out_everywhere(request: HttpRequest) -> HttpResponse:
    """This browser included."""
    services.log_out_everywhere(account_of(request))
    logout(request)
    return redirect("login")


@posted
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    services.revoke_token(get_object_or_404(ApiToken, pk=token_id, account=account_of(request)))
    return redirect("account")
