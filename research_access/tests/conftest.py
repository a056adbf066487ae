"""People that the tests of research access need."""

from __future__ import annotations

import pytest

from accounts import services as accounts
from accounts.models import Account, Person
from research_access import services
from research_access.management.commands.make_network_people import COMPLETE
from research_access.models import AccessRequest


@pytest.fixture
def researcher() -> Account:
    return accounts.create_account("researcher@example.org", name="Nguyễn Thị Ánh")


@pytest.fixture
def reviewer() -> Account:
    return accounts.make_operator("reviewer@example.org")


@pytest.fixture
def draft(researcher: Account) -> AccessRequest:
    """A complete draft."""
    request = services.draft(researcher)
    return services.save_draft(
        request, researcher, **{**COMPLETE, "name": "Nguyễn Thị Ánh", "purpose": "Folding."}
    )


@pytest.fixture
def submitted(draft: AccessRequest, researcher: Account) -> AccessRequest:
    return services.submit_request(draft, researcher)


@pytest.fixture
def approved(submitted: AccessRequest, reviewer: Account) -> AccessRequest:
    services.approve(submitted, reviewer)
    submitted.refresh_from_db()
    return submitted


def speaks(account: Account, language: str) -> None:
    """Set the language that a person reads."""
    Person.objects.filter(account=account).update(language=language)
