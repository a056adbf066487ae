"""schemathesis against the whole site, in process: whatever is sent, no address fails.

Bodies are made from the description, right ones and wrong ones, and sent with a token of the right
scope. Ids that exist are put into bodies and addresses, so that the code behind the door is
reached; a test fails where it was not.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
import yaml
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.openapi import from_dict

from accounts import sign_in
from accounts.models import Account
from accounts.services import issue_token
from goblin_wire.problems import PROBLEM_JSON, PROBLEMS
from goblin_wire.protocol import PROTOCOL
from goblin_wire.signin import SignInStart
from goblin_wire.tokens import Scope
from gpugoblin_site import openapi
from workunits import verdicts
from workunits.models import Job, Lease, Unit
from workunits.tests.world import Researcher, Volunteer

# Each request is one of its own: what it began it commits or rolls back, and it closes.
pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENT: dict[str, Any] = yaml.safe_load(openapi.document())
OPERATIONS = [
    (path, method, mode)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    # What takes nothing cannot be given something wrong.
    if mode is GenerationMode.POSITIVE or {"parameters", "requestBody"} & operation.keys()
]
EXAMPLES = 16
INSIDE = {"/api/v1/sign-in/token": 428}
"""The answer of code that was reached, where it is not 200: the person has not decided yet."""


class World:
    """A lab with a job whose units are leased in part, a volunteer, a sign-in that waits."""

    def __init__(self) -> None:
        lab, volunteer = Researcher.make(), Volunteer.make()
        lab.job(units=6)
        volunteer.ask(3)
        started = sign_in.start(
            SignInStart(protocol=PROTOCOL, scope=Scope.VOLUNTEER, program="test"), "127.0.0.1"
        )
        self.ids: dict[str, list[Any]] = {
            "job": [each.uid.hex for each in Job.objects.all()],
            "unit": [each.uid.hex for each in Unit.objects.all()],
            "lease": [each.pk.hex for each in Lease.objects.all()],
            "host": [volunteer.host],
            "lab": [lab.lab.key.hex],
            "device_code": [started.device_code],
            # A name is looked up, which takes as long as a name server likes.
            "endpoint": ["http://127.0.0.1:9", "https://[::1]:9"],
        }
        accounts = Account.objects
        self.tokens = {
            Scope.LAB.value: issue_token(
                accounts.get(pk=lab.principal.account_id), Scope.LAB, lab=lab.lab
            ),
            Scope.VOLUNTEER.value: issue_token(
                accounts.get(pk=volunteer.principal.account_id), Scope.VOLUNTEER
            ),
        }


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, settings: Any) -> World:
    settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS = True
    # No body that is made up carries a signature of it.
    monkeypatch.setattr(verdicts, "_require_signed", lambda *_: "ab" * 32)
    return World()


@pytest.fixture
def description() -> Any:
    schema = from_dict(DOCUMENT)
    schema.app = get_wsgi_application()
    return schema


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_no_failure(
    description: Any, world: World, path: str, method: str, mode: GenerationMode
) -> None:
    headers = {"Authorization": f"Bearer {world.tokens[_scope(path, method)]}"}
    chance = random.Random(path)
    seen: Counter[int] = Counter()

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
        _make_known(case.body, world.ids, chance)
        _make_known(case.path_parameters, world.ids, chance)
        response = case.call(headers=headers)
        seen[response.status_code] += 1
        _judge(response)

    run()
    if mode is GenerationMode.POSITIVE:
        assert seen[INSIDE.get(path, 200)], f"nothing got behind the door: {dict(seen)}"


def _scope(path: str, method: str) -> str:
    asked = DOCUMENT["paths"][path][method].get("security") or [{"volunteerToken": []}]
    return str(next(iter(asked[0]))).removesuffix("Token")


def _speaks_protocol(case: Any) -> bool:
    return isinstance(case.body, dict) and "protocol" in case.body


def _make_known(value: Any, ids: dict[str, list[Any]], chance: random.Random) -> None:
    """Put ids that exist in the place of most of those that were made up."""
    if isinstance(value, list):
        for each in value:
            _make_known(each, ids, chance)
    elif isinstance(value, dict):
        for name, old in value.items():
            if not isinstance(old, str):
                _make_known(old, ids, chance)
            elif name == "endpoint" or (name in ids and chance.random() < 0.7):
                value[name] = chance.choice(ids.get(name, [old]))


def _judge(response: Any) -> None:
    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        assert response.headers["content-type"] == [PROBLEM_JSON]
        body = json.loads(response.content)
        assert PROBLEMS[body["code"]].status == response.status_code
        assert body["detail"]
