"""`manage.py make_network_people`: the people of a small network, for development and tests."""

from __future__ import annotations

import json
import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from accounts import services as accounts
from accounts.models import Account
from goblin_wire.tokens import Scope
from research_access import services
from research_access.models import AccessRequest, Kind, Lab

COMPLETE: dict[str, Any] = {
    "name": "Researcher of an example",
    "institution": "Example Institute",
    "position": "Researcher",
    "field": "Linear algebra",
    "purpose": "To try the network out.",
    "kinds": [Kind.PRODUCTS.value],
    "size": "One product of two matrices with 4,096 rows.",
    "no_confidential": True,
    "noncommercial": True,
}
"""Answers that make a request complete."""


class Command(BaseCommand):
    help = "Make a reviewer, an approved researcher with a lab, and volunteers; print their tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--volunteers", type=int, default=2)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> str:
        people = make_people(options["volunteers"])
        return json.dumps(people, indent=None if options["json"] else 2)


@transaction.atomic
def make_people(volunteers: int) -> dict[str, Any]:
    """Through the same functions as web and admin; each call makes new people."""
    mark = secrets.token_hex(4)
    reviewer = accounts.make_operator(f"reviewer-{mark}@example.org")
    researcher = accounts.create_account(f"researcher-{mark}@example.org")
    lab = _approved_lab(researcher, reviewer, f"Lab {mark}")
    return {
        "lab": {
            "id": lab.key.hex,
            "token": accounts.issue_token(researcher, Scope.LAB, lab=lab, label="lab node"),
        },
        "volunteers": [_volunteer(mark, number) for number in range(volunteers)],
        "researcher_email": f"researcher-{mark}@example.org",
        "reviewer_email": f"reviewer-{mark}@example.org",
    }


def _approved_lab(researcher: Account, reviewer: Account, name: str) -> Lab:
    approved_request(researcher, reviewer)
    return services.create_lab(researcher, name)


def approved_request(researcher: Account, reviewer: Account, **answers: str | int) -> AccessRequest:
    """A complete request of one account that the other has approved."""
    request = services.draft(researcher)
    services.save_draft(request, researcher, **{**COMPLETE, **answers})
    services.submit_request(request, researcher)
    services.approve(request, reviewer)
    request.refresh_from_db()
    return request


def _volunteer(mark: str, number: int) -> dict[str, str]:
    account = accounts.create_account(f"volunteer-{mark}-{number}@example.org")
    token = accounts.issue_token(account, Scope.VOLUNTEER, label=f"machine {number}")
    return {"token": token}
