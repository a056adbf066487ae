"""The frame of every address of the API: who asks, one message in, one message out.

    @endpoint("POST", request=JobRegistration, reply=JobStatus, scope=Scope.LAB)
    def register_job(call: Call[JobRegistration]) -> JobStatus: ...

    path("api/v1/lab/jobs", register_job)

The same declaration gives the OpenAPI description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.http import HttpRequest, HttpResponse
from rest_framework.views import APIView

import goblin_wire.problems as wire
from accounts.authentication import Principal, principal
from goblin_wire import codec
from goblin_wire.problems import Problem
from goblin_wire.protocol import PROTOCOL_HEADER, require_protocol_header
from goblin_wire.tokens import Scope
from gpugoblin_site import openapi
from gpugoblin_site.problems import problem_response

M = TypeVar("M")
_PROTOCOL = "HTTP_" + PROTOCOL_HEADER.upper().replace("-", "_")
View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """One request: its sender, its message, the ids of its address and its raw body."""

    request: HttpRequest
    message: M
    ids: dict[str, str]
    sender: Principal | None

    @property
    def principal(self) -> Principal:
        """The sender; raises `TokenMissing` at an address that asks for no token."""
        if self.sender is None:
            raise wire.TokenMissing
        return self.sender

    @property
    def body(self) -> bytes:
        """The bytes as they were sent, for signatures."""
        return self.request.body


def read_body(request: HttpRequest) -> bytes:
    """The body; raises `WrongLength` where it ends before the announced length."""
    body = request.body
    announced = request.META.get("CONTENT_LENGTH") or "0"
    if announced.isdigit() and int(announced) != len(body):
        raise wire.WrongLength
    return body


def reply_response(message: Any, status: int = 200) -> HttpResponse:
    response = HttpResponse(codec.encode(message), content_type="application/json", status=status)
    response["Cache-Control"] = "no-store"
    return response


def endpoint(
    method: str,
    *,
    reply: Any,
    request: Any = None,
    scope: Scope | None = None,
    problems: tuple[type[Problem], ...] = (),
) -> Callable[[Callable[[Call[Any]], Any]], View]:
    """Make a view of a function from a `Call` to a reply message.

    `request` and `reply` are message types (none: no body is read), `scope` the token needed (none:
    public), `problems` what it may answer besides the usual ones.
    """

    def decorate(handle: Callable[[Call[Any]], Any]) -> View:
        def answer(django_request: HttpRequest, ids: dict[str, str]) -> HttpResponse:
            require_protocol_header(django_request.META.get(_PROTOCOL))
            sender = principal(django_request, scope) if scope is not None else None
            message = None
            if request is not None:
                message = codec.decode(read_body(django_request), request)
            return reply_response(handle(Call(django_request, message, ids, sender)))

        class Endpoint(_Endpoint):
            __doc__ = handle.__doc__

        def dispatch(_view: APIView, request: HttpRequest, **ids: str) -> HttpResponse:
            if request.method != method:
                response = problem_response(wire.MethodNotAllowed())
                response["Allow"] = method
                return response
            return answer(request, ids)

        def described(_view: APIView, request: Any, **ids: str) -> HttpResponse:
            return answer(request, ids)

        # REST framework finds the methods for the description by name.
        decorator = openapi.describe(handle, request, reply, scope, problems)
        setattr(Endpoint, method.lower(), decorator(described))
        Endpoint.dispatch = dispatch  # type: ignore[method-assign, assignment]
        Endpoint.__name__ = Endpoint.__qualname__ = handle.__name__
        Endpoint.__module__ = handle.__module__
        return Endpoint.as_view()

    return decorate


class _Endpoint(APIView):
    """An address of the API. Sender and message are read by ours, not by the framework."""
