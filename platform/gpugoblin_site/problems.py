"""Errors of the API, all as problem+json: no HTML and no traceback ever leaves `/api/`."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any, NamedTuple

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError, ProgrammingError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from psycopg import errors
from rest_framework import exceptions as rest

import goblin_wire.problems as wire
from goblin_wire.problems import PROBLEM_JSON, Problem

API_PREFIX = "/api/"
_RETRY_S = 5.0


def is_api(request: HttpRequest) -> bool:
    """Whether programs, not people, read the answer to this request."""
    return request.path_info.startswith(API_PREFIX)


def problem_response(problem: Problem) -> HttpResponse:
    """The HTTP reply for a problem."""
    response = HttpResponse(problem.to_bytes(), content_type=PROBLEM_JSON, status=problem.status)
    if problem.retry_after is not None:
        response["Retry-After"] = str(math.ceil(problem.retry_after))
    if problem.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    response["Cache-Control"] = "no-store"
    return response


def problem_of(error: BaseException) -> Problem:
    """The problem that tells of an exception; `Internal` for what was not foreseen."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestDataTooBig):
        return wire.TooLarge()
    if isinstance(error, UnreadablePostError):
        return wire.WrongLength()
    if isinstance(error, Http404):
        return wire.NotFound()
    if isinstance(error, PermissionDenied):
        return wire.NotAllowed()
    if isinstance(error, SuspiciousOperation):
        return wire.BadMessage()
    return _database_problem(error)


def _database_problem(error: BaseException) -> Problem:
    if isinstance(error, OperationalError):
        return wire.Unavailable(
            "The database does not answer; try again in a moment.", retry_after=_RETRY_S
        )
    schema = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction)
    if isinstance(error, ProgrammingError) and isinstance(error.__cause__, schema):
        return wire.Unavailable(
            "The site is being brought up to date and its database is not ready; try again soon.",
            retry_after=60.0,
        )
    return wire.Internal()


_BY_STATUS: dict[int, type[Problem]] = {
    400: wire.BadMessage,
    401: wire.TokenMissing,
    403: wire.NotAllowed,
    404: wire.NotFound,
    405: wire.MethodNotAllowed,
    411: wire.LengthRequired,
    413: wire.TooLarge,
    415: wire.UnsupportedMedia,
    429: wire.RateLimited,
    503: wire.Unavailable,
}


def problem_for_status(status: int) -> Problem:
    """The problem for a reply that Django made itself."""
    kind = _BY_STATUS.get(status)
    if kind is not None:
        return kind()
    return wire.Internal() if status >= HTTPStatus.INTERNAL_SERVER_ERROR else wire.BadMessage()


def as_problem(response: HttpResponse) -> HttpResponse:
    """An error reply in the form of a problem; keeps `Allow` of a 405."""
    replaced = problem_response(problem_for_status(response.status_code))
    if "Allow" in response:
        replaced["Allow"] = response["Allow"]
    return replaced


def rest_exception_handler(error: Exception, _context: dict[str, Any]) -> HttpResponse | None:
    """For views of Django REST framework."""
    if isinstance(error, rest.APIException):
        return problem_response(problem_for_status(error.status_code))
    return problem_response(problem_of(error))


class Explanation(NamedTuple):
    """What an error page says: what happened, and what to do."""

    title: str | Promise
    text: str | Promise


_EXPLAINED = {
    400: Explanation(
        _("That could not be understood"),
        _("The request was damaged on its way or not made by a page of ours. Nothing was changed."),
    ),
    403: Explanation(
        _("Not for this account"),
        _("This page is not open to you. If you think that it should be, write to us."),
    ),
    404: Explanation(
        _("There is no page at this address"),
        _("It may have been removed, or the address was cut or mistyped."),
    ),
    405: Explanation(
        _("This address only takes what a button sends"),
        _("Nothing was changed. Go back to the page with the button, and use it there."),
    ),
    413: Explanation(
        _("That was too large"),
        _("Nothing was read and nothing was changed. Our forms take texts, and no files."),
    ),
}
_STALE_FORM = Explanation(
    _("The form was too old"),
    _(
        "Nothing was sent: the page was open for very long, you logged in or out elsewhere, or"
        " cookies are switched off. Go back, reload the page, and send it again."
    ),
)
_FAILED = _("Something failed on our side. It was logged; please try again later.")


def error_page(
    request: HttpRequest, status: int, explained: Explanation | None = None
) -> HttpResponse:
    """A readable page for people, a problem for programs."""
    if is_api(request):
        return problem_response(problem_for_status(status))
    facts = {"explained": explained or _EXPLAINED[status]}
    return render(request, "error.html", facts, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return error_page(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return error_page(request, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return error_page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Uses no database and no session: they may be what failed. The template may be, too."""
    if is_api(request):
        return problem_response(wire.Internal())
    try:
        return HttpResponse(render_to_string("failed.html"), status=500)
    except Exception:
        return HttpResponse(str(_FAILED), content_type="text/plain; charset=utf-8", status=500)


def csrf_failure(request: HttpRequest, **_facts: Any) -> HttpResponse:
    return error_page(request, 403, _STALE_FORM)
