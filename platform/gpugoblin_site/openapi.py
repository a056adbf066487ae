"""From message types (msgspec) to the OpenAPI description that drf-spectacular writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from goblin_wire.problems import PROBLEM_JSON, PROBLEMS, Problem
from goblin_wire.protocol import OLDEST_PROTOCOL, PROTOCOL, PROTOCOL_HEADER
from goblin_wire.tokens import Scope

REF = "#/components/schemas/{name}"
_USUAL = (
    "bad_message",
    "not_json",
    "method_not_allowed",
    "length_required",
    "too_large",
    "wrong_length",
    "unsupported_protocol",
    "rate_limited",
    "internal",
    "unavailable",
)
_OF_TOKENS = ("token_missing", "token_invalid", "token_expired", "wrong_scope", "account_suspended")
_PROTOCOL = OpenApiParameter(
    PROTOCOL_HEADER,
    int,
    OpenApiParameter.HEADER,
    enum=range(OLDEST_PROTOCOL, PROTOCOL + 1),
    description="The version that the sender speaks; 1 where it is left out.",
)
_messages: dict[str, Any] = {}


class ProblemBody(msgspec.Struct, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retry_after: float | None = None
    facts: dict[str, Any] = {}


def message_schema(kind: Any) -> dict[str, Any]:
    """A reference to a message type, whose component is written with the description."""
    _messages[kind.__name__] = kind
    return {"$ref": REF.format(name=kind.__name__)}


def describe(
    handle: Callable[..., Any],
    request: Any,
    reply: Any,
    scope: Scope | None,
    problems: tuple[type[Problem], ...] = (),
) -> Any:
    """The `extend_schema` decorator for an address that takes and gives messages."""
    responses: dict[Any, Any] = {200: _json(reply)}
    codes = [*_USUAL, *(_OF_TOKENS if scope is not None else ()), *(p.code for p in problems)]
    for status, named in _by_status(codes).items():
        responses[(status, PROBLEM_JSON)] = OpenApiResponse(
            response=message_schema(ProblemBody), description=", ".join(f"`{c}`" for c in named)
        )
    return extend_schema(
        operation_id=handle.__name__,
        description=" ".join((handle.__doc__ or "").split()),
        parameters=[_PROTOCOL],
        request={"application/json": message_schema(request)} if request is not None else None,
        responses=responses,
        auth=[{f"{scope.value}Token": []}] if scope is not None else [],  # type: ignore[list-item]
    )


def _json(kind: Any) -> OpenApiResponse:
    return OpenApiResponse(response=message_schema(kind), description="")


def _by_status(codes: list[str]) -> dict[int, list[str]]:
    grouped: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        grouped.setdefault(PROBLEMS[code].status, []).append(code)
    return dict(sorted(grouped.items()))


def add_components(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """drf-spectacular's hook: add the components of all messages that were described."""
    _, components = msgspec.json.schema_components(list(_messages.values()), ref_template=REF)
    parts = result.setdefault("components", {})
    parts.setdefault("schemas", {}).update(components)
    parts["schemas"] = dict(sorted(parts["schemas"].items()))
    parts["securitySchemes"] = {
        f"{scope.value}Token": {"type": "http", "scheme": "bearer"} for scope in Scope
    }
    return result


@lru_cache(maxsize=1)
def document() -> bytes:
    """The OpenAPI description of the site as YAML."""
    generator: Any = SchemaGenerator
    renderer: Any = OpenApiYamlRenderer
    schema = generator().get_schema(request=None, public=True)
    rendered: bytes = renderer().render(schema, renderer_context={})
    return rendered
