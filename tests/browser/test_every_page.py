"""What must hold on every page, in both languages; one visit for several checks."""

from collections.abc import Iterable

import pytest
from playwright.sync_api import Page, Response

from tests.browser import checks
from tests.browser.pages import Place, every_page
from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors

pytestmark = pytest.mark.network


def each(places: Iterable[Place]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("place", list(places), ids=lambda place: place.title)


EVERY = every_page()
OURS = [place for place in EVERY if not place.is_generic]


def visit(page: Page, place: Place, site: BrowserSite, language: str) -> Response:
    """Open it; AssertionError when it answers with something else than it should."""
    answer = page.goto(place.address(site.facts(language)))
    assert answer is not None
    assert answer.status == place.status, page.locator("body").inner_text()[:800]
    return answer


@each(EVERY)
def test_in_vietnamese_in_the_light(place: Place, visitors: Visitors, site: BrowserSite) -> None:
    visitor = visitors.page(place.who, "vi")
    visitor.ear.take()
    answer = visit(visitor.page, place, site, "vi")
    faults = [
        *checks.policy(answer),
        *checks.language(visitor.page, "vi"),
        *checks.structure(visitor.page),
        *checks.calm(visitor.page),
        *checks.in_theme(visitor.page, "light"),
        *checks.narrow(visitor.page),
    ]
    if place.is_generic:
        faults += [*checks.in_theme(visitor.page, "dark"), *checks.keyboard(visitor.page)]
    faults += visitor.ear.take()
    assert not faults, "\n".join(faults)


@each(OURS)
def test_in_english_in_the_dark(place: Place, visitors: Visitors, site: BrowserSite) -> None:
    visitor = visitors.page(place.who, "en")
    visitor.ear.take()
    visit(visitor.page, place, site, "en")
    faults = [
        *checks.language(visitor.page, "en"),
        *checks.in_theme(visitor.page, "dark"),
        *checks.narrow(visitor.page),
        *checks.keyboard(visitor.page),
        *visitor.ear.take(),
    ]
    assert not faults, "\n".join(faults)


@each(OURS)
def test_without_scripts(place: Place, visitors: Visitors, site: BrowserSite) -> None:
    """It says the same, and each form can be sent."""
    plain = visitors.page(place.who, "vi", scripts=False).page
    visit(plain, place, site, "vi")
    faults = plain.evaluate(checks.SCRIPTS["plain"])
    assert not faults, "\n".join(faults)
