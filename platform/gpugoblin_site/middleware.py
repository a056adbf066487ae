"""What every request passes first: its id, its clock, the bound of its body, the form of errors."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from http import HTTPStatus

from csp.middleware import CSPMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from structlog.contextvars import bound_contextvars

import goblin_wire.problems as wire
from goblin_wire.problems import PROBLEM_JSON, Internal, Problem
from goblin_wire.protocol import MAX_JSON_BYTES
from gpugoblin_site import logs, metrics
from gpugoblin_site.problems import (
    as_problem,
    error_page,
    is_api,
    problem_of,
    problem_response,
)

REQUEST_ID_HEADER = "X-Request-ID"
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LONGEST_NUMBER = 20
_NO_CONTENT = "default-src 'none'; frame-ancestors 'none'"
_log = logs.logger("request")


class RequestMiddleware:
    """First in the list, so that it sees what every other layer answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        request_id = uuid.uuid4().hex
        # Every line that is logged on the way carries the id.
        with bound_contextvars(request=request_id):
            response = self._answer(request)
            response[REQUEST_ID_HEADER] = request_id
            if isinstance(response, HttpResponse) and "Content-Length" not in response:
                response["Content-Length"] = str(len(response.content))
            _record(request, response, time.perf_counter() - started)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        try:
            request.get_host()
        except DisallowedHost:
            return error_page(request, HTTPStatus.BAD_REQUEST)
        if not is_api(request):
            return self._get_response(request)
        try:
            require_bounded_body(request)
        except Problem as problem:
            return problem_response(problem)
        response = self._get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or _is_problem(response):
            return response
        return as_problem(response) if isinstance(response, HttpResponse) else response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Turn what an API view raised into a problem; what was not foreseen is logged."""
        if not is_api(request):
            return None
        problem = problem_of(error)
        if isinstance(problem, Internal) or not isinstance(error, Problem):
            _log.error("failed", route=route_of(request), exc_info=error)
        return problem_response(problem)


class BoundedFormMiddleware:
    """One of the pages': what no page can take is refused with a page, before it is read.

    Django bounds the texts of a form, but writes files of any length to the disk; and it answers a
    wrong method without words.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            require_bounded_body(request)
        except Problem:
            return error_page(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        response = self._get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return response
        page = error_page(request, HTTPStatus.METHOD_NOT_ALLOWED)
        page["Allow"] = response["Allow"]
        return page


class ContentPolicyMiddleware(CSPMiddleware):
    """The policy of the settings for pages; for programs a constant one, which costs nothing."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if is_api(request):
            response["Content-Security-Policy"] = _NO_CONTENT
            return response
        answered: HttpResponseBase = super().process_response(request, response)
        return answered


def require_bounded_body(request: HttpRequest) -> None:
    """Raise a problem for a body whose length is unknown or too large, before it is read."""
    if request.method in _BODILESS:
        return
    stated = request.META.get("CONTENT_LENGTH", "")
    if not stated:
        if request.META.get("HTTP_TRANSFER_ENCODING"):
            raise wire.LengthRequired
        return
    if not stated.isascii() or not stated.isdigit():
        raise wire.LengthRequired
    if len(stated) > _LONGEST_NUMBER or int(stated) > MAX_JSON_BYTES:
        raise wire.TooLarge(f"A body may have at most {MAX_JSON_BYTES} bytes.")


def route_of(request: HttpRequest) -> str:
    """The pattern of the address, which holds no id and no secret."""
    match = request.resolver_match
    return match.route if match is not None else "unknown"


def _is_problem(response: HttpResponseBase) -> bool:
    return response.headers.get("Content-Type", "").startswith(PROBLEM_JSON)


def _record(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    route = route_of(request)
    method = request.method if request.method in metrics.METHODS else "other"
    metrics.observe_request(method, route, response.status_code, seconds)
    _log.info(
        "request",
        method=method,
        route=route,
        status=response.status_code,
        ms=round(seconds * 1000, 2),
    )
