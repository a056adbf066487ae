"""The switch of language, which leads back to the page where it was used."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST

from accounts.models import Account, Person
from accounts.pages.common import safe

COOKIE_AGE_S = 365 * 24 * 3600


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Show this reader the pages in another language from now on; an unknown one changes nothing.

    An account keeps the choice; the cookie keeps it for visitors, and after log-out.
    """
    answer = HttpResponseRedirect(_following(request))
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES) or not check_for_language(language):
        return answer
    if isinstance(request.user, Account):
        Person.objects.filter(account=request.user).update(language=language)
    answer.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=COOKIE_AGE_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return answer


def _following(request: HttpRequest) -> str:
    return safe(request, request.POST.get("next", "")) or reverse("home")
