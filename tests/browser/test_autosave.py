"""A draft is kept while it is typed: with real keys, in two windows, and without a net."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Response, expect

from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors

pytestmark = pytest.mark.network
WHO = "applicant-draft"
PURPOSE = "[name=purpose]"
Opened = Callable[[], Page]


@pytest.fixture
def context(visitors: Visitors, site: BrowserSite) -> Iterator[BrowserContext]:
    context = visitors.fresh("en")
    for name, value in site.cookies(WHO, "en").items():
        context.add_cookies([{"name": name, "value": value, "url": site.url}])
    yield context
    context.close()


@pytest.fixture
def opened(context: BrowserContext, site: BrowserSite) -> Opened:
    """Open the form in one more window."""

    def form() -> Page:
        page = context.new_page()
        page.goto(f"/access/{site.facts('en')['request_draft']}/")
        return page

    return form


def typed(page: Page, text: str) -> None:
    """Replace what will be computed, key by key."""
    page.locator(PURPOSE).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def is_save(answer: Response) -> bool:
    return answer.url.endswith("/draft/") and answer.request.method == "POST"


def saved(page: Page, text: str) -> None:
    """Type, and wait until the page has heard that it is kept."""
    with page.expect_response(is_save):
        typed(page, text)


def test_what_was_typed_is_there_after_loading_anew(opened: Opened) -> None:
    page = opened()
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url) if "/draft/" in each.url else None)
    saved(page, "Một ma trận thưa, từng phím một.")
    expect(page.locator("#saved")).to_contain_text("Draft saved at")
    assert len(asked) == 1, "once after a pause, not with every key"
    page.reload()
    expect(page.locator(PURPOSE)).to_have_value("Một ma trận thưa, từng phím một.")


def test_it_is_saved_again_and_again(opened: Opened) -> None:
    page = opened()
    page.clock.install()
    for text in ("first", "second", "third"):
        typed(page, text)
        with page.expect_response(is_save):
            page.clock.run_for(6_000)
        expect(page.locator("#saved")).to_contain_text("Draft saved at")
    page.reload()
    expect(page.locator(PURPOSE)).to_have_value("third")


def test_who_leaves_at_once_loses_nothing(opened: Opened) -> None:
    page = opened()
    typed(page, "Typed, and gone before the pause was over.")
    page.goto("/help/")
    page.go_back()
    page.reload()
    expect(page.locator(PURPOSE)).to_have_value("Typed, and gone before the pause was over.")


def test_of_two_windows_neither_loses_anything(opened: Opened) -> None:
    first, second = opened(), opened()
    saved(first, "from the first window")
    saved(second, "from the second window")
    told = second.locator("#saved")
    expect(told).to_contain_text("Show what the other window saved")
    expect(second.locator(PURPOSE)).to_have_value("from the second window")
    first.reload()
    expect(first.locator(PURPOSE)).to_have_value("from the first window")
    # Whoever reads the warning decides: a button keeps what stands here.
    second.locator("button[value=save]").click()
    expect(second.locator(PURPOSE)).to_have_value("from the second window")
    second.locator("button[value=save]").click()
    first.reload()
    expect(first.locator(PURPOSE)).to_have_value("from the second window")


def test_without_a_net_it_says_so_and_goes_on_when_it_is_back(
    opened: Opened, context: BrowserContext
) -> None:
    page = opened()
    page.clock.install()
    context.set_offline(True)
    typed(page, "typed on a train")
    page.clock.run_for(2_000)
    expect(page.locator("#unsaved")).to_be_visible()
    expect(page.locator(PURPOSE)).to_have_value("typed on a train")
    context.set_offline(False)
    page.keyboard.type(", in a tunnel")
    with page.expect_response(is_save):
        page.clock.run_for(6_000)
    expect(page.locator("#unsaved")).to_be_hidden()
    page.reload()
    expect(page.locator(PURPOSE)).to_have_value("typed on a train, in a tunnel")
