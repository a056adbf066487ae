"""Logs are JSON lines with a request id, and hold nothing that a person or program sent."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from django.test import Client

from gpugoblin_site import logs, middleware

pytestmark = pytest.mark.django_db

SENTINELS = ("ada@example.org", "BCDF-GHJK", "gbv_0123456789abcdef_" + "s" * 43, "my-machine")


@pytest.fixture
def lines(monkeypatch: Any) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Logging as in production, into memory."""
    before = structlog.get_config()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.BytesIO()
    logs.configure("INFO", stream)
    monkeypatch.setattr(middleware, "_log", logs.logger("request"))
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.configure(**before)
    wrapper = root.handlers[0]
    assert isinstance(wrapper, logging.StreamHandler)
    wrapper.stream.detach()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_request(lines: Any) -> None:
    email, code, token, label = SENTINELS
    client = Client(raise_request_exception=False)
    response = client.post(
        f"/api/v1/sign-in?email={email}",
        json.dumps({"protocol": 1, "scope": "volunteer", "program": email, "label": label}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    client.get(f"/login/?token={code}")
    client.get(f"/{label}/")
    client.post("/login/", {"token": code}, headers={"host": f"{label}.example"})
    written = lines()
    assert [line["event"] for line in written].count("request") == 4
    first = written[0]
    assert first["request"] == response.headers["X-Request-ID"]
    assert (first["route"], first["status"], first["method"]) == ("api/v1/sign-in", 200, "POST")
    text = json.dumps(written)
    for sentinel in SENTINELS:
        assert sentinel not in text


def test_an_exception_is_told_without_its_values(lines: Any, monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise ValueError(f"duplicate key: {SENTINELS[0]}")

    monkeypatch.setattr("accounts.sign_in.start", broken)
    body = json.dumps({"protocol": 1, "scope": "volunteer", "program": "p"})
    Client(raise_request_exception=False).post(
        "/api/v1/sign-in", body, content_type="application/json"
    )
    written = lines()
    failed = next(line for line in written if line["event"] == "failed")
    assert failed["exception"] == "ValueError"
    assert any("broken" in place for place in failed["places"])
    assert SENTINELS[0] not in json.dumps(written)


def test_standard_logging_has_the_same_form(lines: Any) -> None:
    logging.getLogger("some.library").warning("odd %s", "thing")
    try:
        raise KeyError(SENTINELS[0])
    except KeyError:
        logging.getLogger("some.library").exception("failed")
    first, second = lines()
    assert (first["event"], first["level"], first["logger"]) == (
        "odd thing",
        "warning",
        "some.library",
    )
    assert second["exception"] == "KeyError"
    assert SENTINELS[0] not in json.dumps(second)


def test_tasks_that_run_every_second_leave_no_lines(lines: Any) -> None:
    logging.getLogger("apscheduler.executors.default").info("Running job")
    logging.getLogger("apscheduler.scheduler").warning("Run time was missed")
    assert [line["event"] for line in lines()] == ["Run time was missed"]
