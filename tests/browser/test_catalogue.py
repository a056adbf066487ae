"""The catalogue narrows while somebody types, and works as a form where no script runs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import VISITOR
from tests.browser.visitors import Visitors

pytestmark = pytest.mark.network


@pytest.fixture
def page(visitors: Visitors) -> Iterator[Page]:
    context = visitors.fresh("en")
    yield context.new_page()
    context.close()


def test_it_narrows_while_somebody_types(page: Page) -> None:
    page.goto("/catalogue/")
    everything = page.locator(".operator").count()
    page.get_by_role("searchbox").press_sequentially("layer_norm")
    expect(page.locator(".operator")).to_have_count(2)
    expect(page.get_by_role("status")).to_contain_text("2 of")
    assert page.evaluate("document.activeElement.id") == "q"
    page.get_by_role("searchbox").fill("")
    expect(page.locator(".operator")).to_have_count(everything)


def test_an_anchor_leads_to_its_operator(page: Page) -> None:
    page.goto("/catalogue/#matmul")
    expect(page.locator("#matmul")).to_be_in_viewport()


def test_it_is_a_form_without_scripts(visitors: Visitors) -> None:
    plain = visitors.page(VISITOR, "en", scripts=False).page
    plain.goto("/catalogue/")
    plain.get_by_role("searchbox").fill("matrix product")
    plain.get_by_role("button", name="Search").click()
    assert plain.url.endswith("/catalogue/?q=matrix+product")
    expect(plain.locator("#matmul")).to_be_visible()
