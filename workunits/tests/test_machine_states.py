"""The sentence for a machine, from every combination of what the site may know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workunits.pages.machine_states import Facts, is_on_line, state_of

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SINCE = NOW - timedelta(hours=1)


def facts(doing: str = "ready", *, silent: float = 5.0, **changes: object) -> Facts:
    known: dict[str, object] = {
        "doing": doing,
        "doing_since": SINCE,
        "resumes": None,
        "last_seen": NOW - timedelta(seconds=silent),
        "now": NOW,
        "open": 0,
        "reported": 0,
    }
    return Facts(**{**known, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "text", "reason", "on_line"),
    [
        (facts("working", open=2), "Works on 2 units", "", True),
        (facts("working", open=1, silent=600), "Not seen", "The 1 unit that it holds", False),
        (facts("ready"), "Ready", "It asks for work.", True),
        (facts("ready", reported=3), "Ready", "3 results wait", True),
        (facts("ready", silent=600), "Not seen", "may be switched off", False),
        (facts("no_jobs"), "Idle", "There is no work", True),
        (facts("slowed_down", silent=3000), "Idle", "came to nothing", True),
        (facts("slowed_down", silent=4000), "Not seen", "", False),
        (facts("paused"), "Paused", "when you say resume", False),
        (facts("paused", resumes=NOW), "Paused", "by itself", False),
        (facts("paused", silent=3600), "Paused", "may be switched off", False),
        (facts("stopping"), "Switched off", "in good order", False),
        (facts("stopping", reported=1), "Switched off", "1 result still waits", False),
        (facts("switched_off"), "Idle", "asks again", True),
        (facts("switched_off", switched_off="A fault."), "Gets no work", "A fault.", True),
        (facts("working", open=1, switched_off="A fault."), "Works on 1 unit", "A fault.", True),
        (facts("working", open=1, token_ended=NOW), "Signed off", "token has ended", False),
        (facts("a_code_of_later"), "Ready", "It asks for work.", True),
    ],
)
def test_the_sentence(known: Facts, text: str, reason: str, on_line: bool) -> None:
    state = state_of(known)
    assert state.text == text
    assert reason in state.reason
    assert state.kind in {"done", "info", "waiting", "refused"}
    assert is_on_line(known) is on_line


def test_since_is_the_last_message_of_who_is_missed() -> None:
    assert state_of(facts("no_jobs")).since == SINCE
    assert state_of(facts("no_jobs", silent=600)).since == NOW - timedelta(seconds=600)
