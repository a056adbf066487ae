"""The mails of this app: in both languages, with the link, without a word too many."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugoblin_site.mail import text
from research_access.models import PROPOSAL_MOVES, ProposalState

TEMPLATES = Path(__file__).parents[1] / "templates" / "mail"
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.txt"))
FACTS: dict[str, str | int] = {
    "reason": "Vì 1 < 2 & “thế”.",
    "text": "Vì 1 < 2 & “thế”.",
    "daily_flops": 10**18,
    "request_url": "https://site.example/access/x/",
    "labs_url": "https://site.example/labs/",
    "url": "https://site.example/invitations/x/",
    "lab": "Phòng <Lab>",
    "what": "Tích ma trận thưa <A> & B",
    "answer": "Vì 1 < 2 & “thế”.",
    "proposals_url": "https://site.example/proposals/",
    "catalogue_url": "https://site.example/catalogue/",
    "days": 7,
    "again": 0,
}


def test_there_is_one_for_every_move() -> None:
    moves = {"submitted", "info_asked", "approved", "declined", "withdrawn", "revoked"}
    answers = {f"proposal_{state}" for state in PROPOSAL_MOVES[ProposalState.OPEN]}
    others = {"access_message", "lab_invitation"}
    assert {f"access_{move}" for move in moves} | answers | others == set(NAMES)


@pytest.mark.parametrize("again", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_in_both_languages(name: str, again: int) -> None:
    facts = {**FACTS, "again": again}
    english, vietnamese = (text.render(name, facts, language) for language in ("en", "vi"))
    assert english.subject != vietnamese.subject
    shared = set(english.body.splitlines()) & set(vietnamese.body.splitlines())
    told = {str(value) for value in FACTS.values()}
    assert all(line in told or line.startswith(("http", "-- ")) for line in shared - {""})
    for mail in (english, vietnamese):
        assert "\n\n\n" not in mail.body
        assert "https://site.example/" in mail.body
        assert "&lt;" not in mail.body
        assert "&amp;" not in mail.body


def test_no_reason_no_empty_place_for_it() -> None:
    said = text.render("access_approved", {**FACTS, "reason": ""}, "en").body
    assert "The reviewer writes" not in said
    assert "\n\n\n" not in said
