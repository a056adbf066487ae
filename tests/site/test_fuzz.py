"""schemathesis against the whole site, in process: whatever is sent, no address fails.

Bodies are made from the description, right ones and wrong ones, and sent with a token of the right
scope, so that they reach the code behind the door.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.openapi import from_dict

from goblin_wire.problems import PROBLEM_JSON, PROBLEMS
from goblin_wire.protocol import PROTOCOL
from goblin_wire.tokens import Scope
from gpugoblin_site import openapi
from research_access.management.commands.make_network_people import make_people

pytestmark = pytest.mark.django_db

DOCUMENT: dict[str, Any] = yaml.safe_load(openapi.document())
OPERATIONS = [
    (path, method, mode)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    # What takes nothing cannot be given something wrong.
    if mode is GenerationMode.POSITIVE or {"parameters", "requestBody"} & operation.keys()
]
EXAMPLES = 12


@pytest.fixture
def tokens() -> dict[str, str]:
    people = make_people(1)
    return {
        Scope.LAB.value: people["lab"]["token"],
        Scope.VOLUNTEER.value: people["volunteers"][0]["token"],
    }


@pytest.fixture
def description() -> Any:
    schema = from_dict(DOCUMENT)
    schema.app = get_wsgi_application()
    return schema


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_no_failure(
    description: Any, tokens: dict[str, str], path: str, method: str, mode: GenerationMode
) -> None:
    headers = {"Authorization": f"Bearer {tokens[_scope(path, method)]}"}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=description[path][method].as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and _speaks_protocol(case):
            case.body["protocol"] = PROTOCOL  # nearly any other number ends at the first line
        _judge(case.call(headers=headers))

    run()


def _scope(path: str, method: str) -> str:
    asked = DOCUMENT["paths"][path][method].get("security") or [{"volunteerToken": []}]
    return str(next(iter(asked[0]))).removesuffix("Token")


def _speaks_protocol(case: Any) -> bool:
    return isinstance(case.body, dict) and "protocol" in case.body


def _judge(response: Any) -> None:
    assert response.status_code != 500, response.content
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_JSON]
        body = json.loads(response.content)
        assert PROBLEMS[body["code"]].status == response.status_code
        assert body["detail"]
