"""The public pages. What they say is in templates/pages/, what they promise in docs/promises.md."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from accounts.terms import TERMS_VERSION
from gpugoblin_site.pages import code
from gpugoblin_site.pages.electricity import ElectricityForm
from gpugoblin_site.pages.now import network_now


def _page(request: HttpRequest, name: str, **facts: Any) -> HttpResponse:
    return render(request, f"pages/{name}.html", facts)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, two doors, and what is being computed now."""
    return _page(
        request,
        "home",
        now=network_now(),
        code=code.shown(code.twelve_lines(get_language() or settings.LANGUAGE_CODE)),
        commands=code.commands(settings.GOBLIN_SITE_URL),
    )


@require_safe
def how(request: HttpRequest) -> HttpResponse:
    """How a computation runs, in four steps."""
    return _page(request, "how")


@require_safe
def your_data(request: HttpRequest) -> HttpResponse:
    """What stays, what travels, and what can be guessed from it."""
    return _page(request, "data")


@require_safe
def cost(request: HttpRequest) -> HttpResponse:
    """What it costs, and what the licence allows."""
    return _page(request, "cost")


@require_safe
def contact(request: HttpRequest) -> HttpResponse:
    """How the people behind it are reached."""
    return _page(request, "contact")


@require_safe
def lend(request: HttpRequest) -> HttpResponse:
    """What lending a machine means, before anything is downloaded."""
    form = ElectricityForm(request.GET if "watts" in request.GET else None)
    return _page(
        request,
        "lend",
        form=form,
        bill=form.bill() if form.is_valid() else None,
        commands=code.commands(settings.GOBLIN_SITE_URL),
    )


@require_safe
def questions(request: HttpRequest) -> HttpResponse:
    """What people ask."""
    return _page(request, "help")


@require_safe
def terms(request: HttpRequest) -> HttpResponse:
    """The terms of use."""
    return _page(request, "terms", version=TERMS_VERSION)


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    """What is kept about people, why, and for how long."""
    return _page(request, "privacy", version=TERMS_VERSION)
