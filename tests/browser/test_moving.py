"""The part of a page that moves: asked for again while somebody looks, left alone otherwise."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.pages import VOLUNTEER
from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors

pytestmark = pytest.mark.network
HIDE = "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})"
SHOW = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))"
MARK = "document.querySelector('#moving > *').dataset.old = 'yes'"


@pytest.fixture
def page(visitors: Visitors, site: BrowserSite) -> Iterator[Page]:
    context = visitors.fresh("en")
    for name, value in site.cookies(VOLUNTEER, "en").items():
        context.add_cookies([{"name": name, "value": value, "url": site.url}])
    opened = context.new_page()
    opened.clock.install()
    yield opened
    context.close()


def parts(page: Page) -> list[Request]:
    """The requests for a part, from now on."""
    heard: list[Request] = []
    page.on("request", lambda each: heard.append(each) if "hx-request" in each.headers else None)
    return heard


def test_my_machines_are_asked_for_again_only_while_they_are_looked_at(page: Page) -> None:
    page.goto("/machines/")
    asked = parts(page)
    page.evaluate(MARK)
    page.clock.run_for(7_000)
    expect(page.locator("#moving > [data-old]")).to_have_count(0)
    assert len(asked) == 1
    page.evaluate(HIDE)
    page.clock.run_for(60_000)
    assert len(asked) == 1
    page.evaluate(MARK)
    page.evaluate(SHOW)
    expect(page.locator("#moving > [data-old]")).to_have_count(0)
    assert len(asked) == 2


def test_a_part_does_not_move_under_the_hands_of_who_is_in_it(page: Page) -> None:
    page.goto("/machines/")
    asked = parts(page)
    page.locator("#moving a").first.focus()
    page.clock.run_for(30_000)
    assert not asked


def test_one_machine_moves_too(page: Page, site: BrowserSite) -> None:
    page.goto(f"/machines/{site.facts('en')['host']}/")
    asked = parts(page)
    page.evaluate(MARK)
    page.clock.run_for(7_000)
    expect(page.locator("#moving > [data-old]")).to_have_count(0)
    assert len(asked) == 1
