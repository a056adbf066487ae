"""The second factor: asked for at log-in, set up and changed in the account."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from allauth.account.internal.decorators import login_stage_required
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, clear_totp_secret
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts import factors
from accounts.forms import CodeForm
from accounts.models import Account
from accounts.pages.common import account_of, safe


class ShownCode(AuthenticateForm):  # type: ignore[misc]
    """A code of the app, or a recovery code; made with `user=`."""

    code = CodeForm.base_fields["code"]


class FirstCode(ActivateTOTPForm):  # type: ignore[misc]
    """The first code of the app, which shows that it has the secret; made with `user=`.

    allauth would make another secret for each page; here all tabs of a session show the same.
    """

    code = CodeForm.base_fields["code"]

    def __init__(self, *args: Any, **options: Any) -> None:
        session = context.request.session
        kept = session.get(SECRET_SESSION_KEY)
        super().__init__(*args, **options)
        if kept:
            self.secret = session[SECRET_SESSION_KEY] = kept


@never_cache
@login_stage_required(stage=AuthenticateStage.key, redirect_urlname="login")  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def authenticate(request: HttpRequest) -> HttpResponse:
    """The step of a log-in after the mailed code, for who has a second factor."""
    stage = request._login_stage  # type: ignore[attr-defined]
    form = ShownCode(request.POST or None, user=stage.login.user)
    if request.method == "POST" and form.is_valid():
        post_authentication(request, form.authenticator)
        answer: HttpResponse = stage.exit()
        return answer
    return _check_page(request, form)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """For a session that began before the second factor was set up elsewhere."""
    account = account_of(request)
    following = safe(request, request.GET.get("next", "")) or settings.LOGIN_REDIRECT_URL
    if factors.is_passed(request) or not factors.is_set_up(account):
        return redirect(following)
    form = ShownCode(request.POST or None, user=account)
    if request.method == "POST" and form.is_valid():
        post_authentication(request, form.authenticator)
        return redirect(following)
    return _check_page(request, form)


@sensitive_post_parameters("code")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set one up, or see and change the one there is."""
    account = account_of(request)
    away = _not_yet(request, account)
    if away is not None:
        return away
    known = factors.of_account(account)
    if known is None:
        return _set_up(request, account)
    if request.method == "POST":
        return _change(request, account)
    return _page(request, {"known": known})


def _set_up(request: HttpRequest, account: Account) -> HttpResponse:
    form = FirstCode(request.POST or None, user=account)
    if request.method == "POST" and form.is_valid():
        codes = factors.set_up(account, form.secret)
        clear_totp_secret(request)
        factors.pass_with(request, account)
        return _page(request, {"codes": codes, "following": _following(request)})
    facts = {
        "form": form,
        "picture": factors.picture(account, form.secret),
        "secret": factors.readable_secret(form.secret),
        "demanded": account.is_staff,
    }
    return _page(request, facts, status=400 if form.is_bound else 200)


def _change(request: HttpRequest, account: Account) -> HttpResponse:
    if request.POST.get("change") == "codes":
        return _page(request, {"codes": factors.new_recovery_codes(account)})
    if request.POST.get("change") == "remove":
        factors.remove(account)
    return redirect("second-factor")


def _not_yet(request: HttpRequest, account: Account) -> HttpResponse | None:
    """Where to go first: what guards an account is changed by who proved who it is just now."""
    if not factors.is_fresh(request):
        query = urlencode({"again": 1, "next": request.get_full_path()})
        return HttpResponseRedirect(f"{reverse('login')}?{query}")
    if factors.is_set_up(account) and not factors.is_passed(request):
        query = urlencode({"next": request.get_full_path()})
        return HttpResponseRedirect(f"{reverse('second-factor-check')}?{query}")
    return None


def _following(request: HttpRequest) -> str:
    return safe(request, request.GET.get("next", ""))


def _check_page(request: HttpRequest, form: ShownCode) -> HttpResponse:
    return render(
        request,
        "accounts/second_factor_check.html",
        {"form": form},
        status=400 if form.is_bound else 200,
    )


def _page(request: HttpRequest, facts: dict[str, Any], status: int = 200) -> HttpResponse:
    return render(request, "accounts/second_factor.html", facts, status=status)
