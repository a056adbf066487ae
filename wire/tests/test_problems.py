"""The table of codes: unique, complete, the same both ways, and safe to print."""

from __future__ import annotations

import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire import problems
from goblin_wire.problems import PROBLEMS, BadReply, Problem, RateLimited

KINDS = [pytest.param(kind, id=code) for code, kind in sorted(PROBLEMS.items())]


def test_no_code_stands_for_two_things() -> None:
    # Other rooms have kinds of their own, which may be there where their tests ran before.
    ours = [kind for kind in Problem.__subclasses__() if kind.__module__ == Problem.__module__]
    assert len(PROBLEMS) == len(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_each_has_a_code_a_status_and_a_sentence(kind: type[Problem]) -> None:
    assert re.fullmatch(r"[a-z0-9_]{1,40}", kind.code)
    assert 400 <= kind.status < 600
    assert kind().detail.endswith(".")
    assert "\n" not in kind().detail


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_through_json_keeps_everything(kind: type[Problem]) -> None:
    sent = kind("A sentence.", retry_after=1.5, limit=3, needed={"a": [1]})
    back = problems.problem_from_response(
        kind.status, "application/problem+json; charset=utf-8", sent.to_bytes()
    )
    assert type(back) is kind
    assert (back.detail, back.retry_after, back.facts) == (sent.detail, 1.5, sent.facts)


@pytest.mark.parametrize("kind", KINDS)
def test_problems_can_be_pickled(kind: type[Problem]) -> None:
    back = pickle.loads(pickle.dumps(kind("A sentence.", retry_after=2.0, limit=3)))
    assert (type(back), str(back), back.facts) == (kind, "A sentence.", {"limit": 3})
    assert back.retry_after == 2.0


def test_the_body_is_problem_json() -> None:
    body = json.loads(RateLimited(retry_after=5).to_bytes())
    assert body == {
        "type": "https://gpugoblin.com/problems/rate_limited",
        "title": "rate limited",
        "status": 429,
        "detail": "Too many requests; try again later.",
        "code": "rate_limited",
        "retry_after": 5,
    }


def test_facts_never_collide_with_arguments() -> None:
    hostile = {"code": "conflict", "facts": {"self": 1, "detail": 2, "retry_after": 3, "ok": 4}}
    assert problems.problem_from_dict(hostile, 409).facts == {"ok": 4}


@pytest.mark.parametrize(
    ("told", "kept"), [(-5, 0.0), (1e300, 86400.0), ("soon", None), (None, None), (2, 2.0)]
)
def test_a_wait_is_bounded(told: object, kept: float | None) -> None:
    problem = problems.problem_from_dict({"code": "rate_limited", "retry_after": told}, 429)
    assert problem.retry_after == kept


def test_an_unknown_code_is_a_bad_reply() -> None:
    problem = problems.problem_from_dict({"code": "of_the_future", "detail": "New."}, 418)
    assert isinstance(problem, BadReply)
    assert problem.detail == "Status 418: New."


@given(st.binary(max_size=400), st.sampled_from(["text/html", problems.PROBLEM_JSON, ""]))
def test_any_body_becomes_one_printable_problem(body: bytes, kind: str) -> None:
    problem = problems.problem_from_response(502, kind, body)
    assert problem.detail.isprintable()
    assert len(problem.detail) <= 2000 or problem.detail.isascii()


def test_deep_nesting_in_an_error_is_harmless() -> None:
    problem = problems.problem_from_response(500, problems.PROBLEM_JSON, b"[" * 60_000)
    assert isinstance(problem, BadReply)
