"""Log-in and sign-up: type an address, then the code that comes to it; log-out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import login, services
from accounts.addresses import shown
from accounts.forms import CodeForm, EmailForm
from accounts.login import LoginRefused, Refusal, Visitor
from accounts.middleware import person_of
from accounts.models import Account, LoginAttempt
from accounts.pages.common import make_known, remember, safe, visitor_of, wait_sentence
from accounts.terms import TERMS_VERSION
from goblin_wire.problems import RateLimited
from gpugoblin_site.mail import outbox
from gpugoblin_site.mail.models import MailState

AGAIN = "again"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_page(request: HttpRequest) -> HttpResponse:
    """Ask for the address; `?next=` is where to go afterwards, `?again=1` asks those within too."""
    following = safe(request, request.GET.get("next", ""))
    if request.user.is_authenticated and AGAIN not in request.GET:
        return redirect(following or settings.LOGIN_REDIRECT_URL)
    if request.method == "POST":
        return _send(request, following)
    known = person_of(request)
    return _address_page(request, EmailForm(initial={"email": known.email} if known else {}))


def _send(request: HttpRequest, following: str) -> HttpResponse:
    visitor = visitor_of(request)
    form = EmailForm(request.POST)
    if not form.is_valid():
        return _address_page(request, form, status=400)
    try:
        attempt = login.begin(form.cleaned_data["email"], visitor, following)
    except RateLimited as problem:
        form.add_error(None, wait_sentence(problem))
        return _address_page(request, form, status=429)
    return remember(_to_code(attempt), visitor)


def _address_page(request: HttpRequest, form: EmailForm, status: int = 200) -> HttpResponse:
    again = request.user.is_authenticated
    page = render(request, "accounts/login.html", {"form": form, "again": again}, status=status)
    return remember(page, visitor_of(request))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    """Ask for the code; right, it logs in."""
    visitor = visitor_of(request)
    if request.method == "POST":
        named = _attempt_named(request.POST.get("attempt", ""))
        if named is None:
            return _over(request, over_sentence(Refusal.GONE), 410)
        answer = _resend if "resend" in request.POST else _try
        return answer(request, named, visitor)
    attempt = login.waiting(visitor, _attempt_named(request.GET.get("attempt", "")))
    return redirect("login") if attempt is None else _code_page(request, attempt, CodeForm())


def _attempt_named(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _try(request: HttpRequest, named: UUID, visitor: Visitor) -> HttpResponse:
    attempt = login.waiting(visitor, named)
    form = CodeForm(request.POST)
    if attempt is not None and not form.is_valid():
        return _code_page(request, attempt, form, status=400)
    try:
        account, done = login.confirm(named, request.POST.get("code", ""), visitor)
    except RateLimited as problem:
        return _over(request, wait_sentence(problem), problem.status)
    except LoginRefused as refused:
        if refused.refusal is Refusal.WRONG and attempt is not None:
            form.add_error("code", wrong_sentence(refused.left))
            return _code_page(request, attempt, form, status=400)
        if refused.refusal is Refusal.TWICE or request.user.is_authenticated:
            return redirect(settings.LOGIN_REDIRECT_URL)
        return _over(request, over_sentence(refused.refusal), 410)
    return _enter(request, account, done)


def _enter(request: HttpRequest, account: Account, attempt: LoginAttempt) -> HttpResponse:
    """Let allauth go on, which asks for a second factor where there is one."""
    if request.user.is_authenticated:  # once more, or as somebody else
        logout(request)
    services.welcome(account, request.POST.get("time_zone", ""), visitor_of(request).language)
    record_authentication(request, account, "code")
    answer: HttpResponse = perform_login(
        request, Login(user=account, redirect_url=attempt.following or None)
    )
    return make_known(answer, visitor_of(request), attempt.email)


def _resend(request: HttpRequest, named: UUID, visitor: Visitor) -> HttpResponse:
    try:
        return _to_code(login.resend(named, visitor))
    except RateLimited as problem:
        return _over(request, wait_sentence(problem), problem.status)
    except LoginRefused as refused:
        return _over(request, over_sentence(refused.refusal), 410)


def _to_code(attempt: LoginAttempt) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('login-code')}?{urlencode({'attempt': attempt.pk})}")


def _code_page(
    request: HttpRequest, attempt: LoginAttempt, form: CodeForm, status: int = 200
) -> HttpResponse:
    facts = {
        "form": form,
        "attempt": attempt,
        "email": shown(attempt.email),
        "resends_left": login.RESENDS - attempt.resent,
        "minutes": int(login.LIFETIME.total_seconds() // 60),
        "mail": _what_became_of_the_mail(attempt),
        "terms_version": TERMS_VERSION,
    }
    return render(request, "accounts/login_code.html", facts, status=status)


def _what_became_of_the_mail(attempt: LoginAttempt) -> str:
    """`late`, `failed` or `bounced` where the person should know; else nothing."""
    state = login.mail_state(attempt)
    if state is MailState.WAITING and outbox.is_late():
        return "late"
    return str(state.value) if state in (MailState.FAILED, MailState.BOUNCED) else ""


def _over(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    """The attempt is over; the form for another is at hand."""
    facts: dict[str, Any] = {"form": EmailForm(), "over": sentence}
    return remember(
        render(request, "accounts/login.html", facts, status=status), visitor_of(request)
    )


def wrong_sentence(left: int) -> str:
    return ngettext(
        "This is not the code. You can try %(left)d more time.",
        "This is not the code. You can try %(left)d more times.",
        left,
    ) % {"left": left}


def over_sentence(refusal: Refusal) -> str:
    """What a person reads whose attempt does not go on."""
    if refusal is Refusal.ENDED:
        return gettext(
            "This attempt has ended: its code was used, or a wrong one was typed three times."
            " Ask for another code."
        )
    if refusal is Refusal.NO_RESEND:
        return gettext(
            "The code was sent four times already. If no mail has come, look into the folder for"
            " spam and check the address."
        )
    if refusal is Refusal.SUSPENDED:
        return gettext(
            "This account is suspended. Write to contact@gpugoblin.com if you think that this is"
            " a mistake."
        )
    return gettext(
        "This code has expired, or the page was opened in another browser. Ask for another code."
    )


@require_POST
def logout_page(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("home")
