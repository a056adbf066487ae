"""The OpenAPI description: complete, kept in docs/openapi, and true (schemathesis)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import get_resolver

from goblin_wire.tokens import Scope
from gpugoblin_site import openapi

pytestmark = pytest.mark.django_db
KEPT = Path(__file__).resolve().parents[2] / "docs" / "openapi" / "site.yaml"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(openapi.document())
    return found


def test_it_is_served(client: Client) -> None:
    response = client.get("/api/schema/")
    assert response.status_code == 200
    assert response.content == openapi.document()


def test_the_kept_copy_is_fresh() -> None:
    assert KEPT.read_bytes() == openapi.document(), "run `make openapi`"


def test_every_address_has_a_sentence_and_problems(document: dict[str, Any]) -> None:
    assert "/api/v1/sign-in" in document["paths"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (path, method)
            told = {"200", "400", "405", "411", "413", "500", "503"}
            assert operation["responses"].keys() >= told, (path, method)
    assert "wait_url?ticket=" in document["info"]["description"]


def test_every_api_address_is_described(document: dict[str, Any]) -> None:
    routes = {_plain(route) for route in _routes(get_resolver().url_patterns)}
    ours = {route for route in routes if route.startswith("/api/v1/")}
    assert ours == {re.sub(r"{\w+}", "<>", path) for path in document["paths"]}


def _routes(patterns: Any, prefix: str = "") -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        found += (
            _routes(pattern.url_patterns, route) if hasattr(pattern, "url_patterns") else [route]
        )
    return found


def _plain(route: str) -> str:
    """A Django route, in either of its forms, without names."""
    return "/" + re.sub(r"\(\?P<\w+>[^)]*\)|<\w+(:\w+)?>", "<>", route).strip("^$")


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for reference in _references(document):
        assert reference.rpartition("/")[2] in schemas, reference


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [r for inner in value.values() for r in _references(inner)]
    return [r for inner in value for r in _references(inner)] if isinstance(value, list) else []


def test_tokens_are_described(document: dict[str, Any]) -> None:
    named = document["components"]["securitySchemes"]
    assert named.keys() == {f"{scope.value}Token" for scope in Scope}
