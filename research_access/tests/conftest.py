"""People that the tests of research access need."""

from __future__ import annotations

import pytest

from accounts import services as accounts
from accounts.models import Account
from research_access import services
from research_access.models import AccessRequest


@pytest.fixture
def researcher() -> Account:
    return accounts.create_account("researcher@example.org")


@pytest.fixture
def reviewer() -> Account:
    return accounts.make_operator("reviewer@example.org")


@pytest.fixture
def draft(researcher: Account) -> AccessRequest:
    return services.draft_request(researcher, title="Proteins", purpose="Folding.")


@pytest.fixture
def approved(draft: AccessRequest, researcher: Account, reviewer: Account) -> AccessRequest:
    services.submit_request(draft, researcher)
    return services.approve(draft, reviewer)
