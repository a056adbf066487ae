"""What pages know of the person: language, time zone, and for the admin the second factor."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from accounts import factors
from accounts.models import Account, Person

Handler = Callable[[HttpRequest], HttpResponseBase]


def person_of(request: HttpRequest) -> Person | None:
    """The person who is logged in, if any."""
    account = request.user
    return getattr(account, "person", None) if isinstance(account, Account) else None


class LanguageMiddleware:
    """The account's language, else the cookie's, else what the browser asks for."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        person = person_of(request)
        language = person.language if person else translation.get_language_from_request(request)
        with translation.override(language):
            request.LANGUAGE_CODE = translation.get_language()
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


class TimeZoneMiddleware:
    """Times are shown in the account's zone, to visitors in the site's."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        person = person_of(request)
        with timezone.override(_zone(person.time_zone) if person else None):
            return self._get_response(request)


class SecondFactorMiddleware:
    """Nobody comes into the administration without a second factor; who has none sets one up."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        account = request.user
        if (
            request.path_info.startswith(reverse("admin:index"))
            and isinstance(account, Account)
            and account.is_staff
            and not factors.is_passed(request)
        ):
            page = "second-factor-check" if factors.is_set_up(account) else "second-factor"
            query = urlencode({"next": request.get_full_path()})
            return HttpResponseRedirect(f"{reverse(page)}?{query}")
        return self._get_response(request)


def _zone(name: str) -> ZoneInfo | None:
    """A zone that this machine knows by that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
