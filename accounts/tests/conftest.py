"""People that the tests of accounts need."""

from __future__ import annotations

import pytest

from accounts import services
from accounts.models import Account
from research_access import services as access
from research_access.models import Lab


@pytest.fixture
def account() -> Account:
    return services.create_account("Ada@Example.org")


@pytest.fixture
def lab() -> Lab:
    """A lab whose owner is `researcher@example.org`."""
    reviewer = services.make_operator("reviewer@example.org")
    researcher = services.create_account("researcher@example.org")
    request = access.draft_request(researcher, title="t", purpose="p")
    access.submit_request(request, researcher)
    access.approve(request, reviewer)
    return access.create_lab(researcher, "Lab")
