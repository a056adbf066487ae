"""Middleware for pages that people read: one wrapper, which programs' requests go past.

An exchange of a volunteer pays for none of sessions, languages or log-in: `MIDDLEWARE` names this
wrapper, and `PAGE_MIDDLEWARE` what it holds, in Django's own form and order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.module_loading import import_string

from gpugoblin_site.problems import is_api

PROBES = frozenset({"/metrics", "/healthz", "/readyz"})

Handler = Callable[[HttpRequest], HttpResponseBase]


def is_page(request: HttpRequest) -> bool:
    """Whether a person may look at the answer."""
    return not is_api(request) and request.path_info not in PROBES


class PageMiddleware:
    """Passes pages through `PAGE_MIDDLEWARE`, everything else straight on."""

    def __init__(self, get_response: Handler) -> None:
        self._straight = get_response
        handler: Any = get_response
        self._made: list[Any] = []
        for name in reversed(settings.PAGE_MIDDLEWARE):
            made = import_string(name)(handler)
            self._made.insert(0, made)
            handler = convert_exception_to_response(made)
        self._through: Handler = handler

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._through(request) if is_page(request) else self._straight(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """The first answer that one of them gives before the view."""
        if is_page(request):
            for hook in self._hooks("process_view"):
                answer: HttpResponseBase | None = hook(request, view, args, kwargs)
                if answer is not None:
                    return answer
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """The first answer that one of them, the innermost first, makes of an exception."""
        if is_page(request):
            for hook in reversed(self._hooks("process_exception")):
                answer: HttpResponseBase | None = hook(request, error)
                if answer is not None:
                    return answer
        return None

    def process_template_response(
        self, request: HttpRequest, response: TemplateResponse
    ) -> TemplateResponse:
        if is_page(request):
            for hook in reversed(self._hooks("process_template_response")):
                response = hook(request, response)
        return response

    def _hooks(self, name: str) -> list[Callable[..., Any]]:
        return [getattr(made, name) for made in self._made if hasattr(made, name)]
