"""What must hold on every page, in both languages; one visit for several checks."""

import pytest
from playwright.sync_api import Page, Response

from tests.browser import checks
from tests.browser.pages import Place, every_page
from tests.browser.site import BrowserSite
from tests.browser.visitors import LANGUAGES, Visitors

pytestmark = pytest.mark.network
PLACES = every_page()


def visit(page: Page, place: Place, site: BrowserSite, language: str) -> Response:
    """Open it; AssertionError when it answers with something else than it should."""
    answer = page.goto(place.address(site.facts(language)))
    assert answer is not None
    assert answer.status == place.status, page.locator("body").inner_text()[:800]
    return answer


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_a_page(place: Place, language: str, visitors: Visitors, site: BrowserSite) -> None:
    page = visitors.page(place.who, language)
    page.ear.take()
    answer = visit(page.page, place, site, language)
    faults = [
        *checks.policy(answer),
        *checks.language(page.page, language),
        *checks.structure(page.page),
        *checks.both_themes(page.page),
        *checks.narrow(page.page),
        *checks.calm(page.page),
        *(checks.keyboard(page.page) if language == "en" else []),
    ]
    faults += page.ear.take()
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_a_page_without_scripts(place: Place, visitors: Visitors, site: BrowserSite) -> None:
    """It says the same, and each form can be sent."""
    plain = visitors.page(place.who, "vi", scripts=False).page
    visit(plain, place, site, "vi")
    faults = plain.evaluate(checks.SCRIPTS["plain"])
    assert not faults, "\n".join(faults)
