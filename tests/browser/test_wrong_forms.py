"""Every form sent empty and wrong: each complaint stands beside its field, in the reader's
language, as readable as any page, and nothing that was typed is lost."""

from typing import Literal

import pytest
from playwright.sync_api import Page

from tests.browser import checks
from tests.browser.forms import GENERIC_FORMS, OWN_FORMS, STAFF_FORMS, Mistake
from tests.browser.site import BrowserSite
from tests.browser.visitors import LANGUAGES, Visitors

pytestmark = pytest.mark.network
EVERY = (*OWN_FORMS, *STAFF_FORMS, *GENERIC_FORMS)
TEXTS = "input:not([type=hidden], [type=checkbox], [type=radio], [type=submit]), textarea"
# A browser cuts what is too long; programs, and browsers of old, do not.
UNBOUNDED = """document.querySelectorAll("[maxlength]").forEach(
    (field) => field.removeAttribute("maxlength"))"""
# Most forms are in the list empty and then wrong, so they are looked at in both.
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mistake", EVERY, ids=[each.name for each in EVERY])
def test_a_mistake_is_told_beside_its_field(
    mistake: Mistake, language: str, visitors: Visitors, site: BrowserSite
) -> None:
    visitor = visitors.page(mistake.place.who, language)
    page = visitor.page
    page.goto(mistake.place.address(site.facts(language)))
    visitor.ear.take()
    typed = send(page, mistake)
    assert page.locator("h1").count() == 1, page.locator("body").inner_text()[:500]
    faults = [
        *page.evaluate(checks.SCRIPTS["complaints"], list(mistake.wrong)),
        *lost(page, typed, mistake),
        *checks.language(page, language),
        *visitor.ear.take(),
    ]
    if language == "vi":  # the longer sentences; what else is on the page is the same
        theme = THEMES[EVERY.index(mistake) % len(THEMES)]
        faults += [*checks.in_theme(page, theme), *checks.narrow(page), *visitor.ear.take()]
    assert not faults, "\n".join(faults)


def send(page: Page, mistake: Mistake) -> dict[str, str]:
    """Fill the form in as somebody does who makes this mistake, and press its button; the texts as
    they stood."""
    page.evaluate(UNBOUNDED)
    if mistake.opens:
        page.locator(f"{mistake.opens} > summary").first.click()
    form = page.locator(mistake.form).first
    if mistake.is_emptied:
        for each in form.locator(TEXTS).all():
            if each.is_editable():
                each.fill("")
    for name in mistake.unticked:
        for box in form.locator(f"[name='{name}']").all():
            box.uncheck()
    for name, value in mistake.chosen:
        form.locator(f"[name='{name}'][value='{value}']").check()
    for name, text in mistake.typed.items():
        form.locator(f"[name='{name}']").fill(text)
    typed = {name: form.locator(f"[name='{name}']").input_value() for name in mistake.typed}
    with page.expect_navigation():
        form.locator(mistake.button).first.click()
    return typed


def lost(page: Page, typed: dict[str, str], mistake: Mistake) -> list[str]:
    """What was typed and is not there any more."""
    gone = []
    for name, text in typed.items():
        now = page.locator(f"[name='{name}']").first.input_value()
        if now != text:
            gone.append(f"{name} was {text!r}, is {now!r}")
    for name, value in mistake.chosen:
        if not page.locator(f"[name='{name}'][value='{value}']").is_checked():
            gone.append(f"{name} is not {value} any more")
    return gone
