"""Pages that say what went wrong: as readable as the others, and in the reader's language."""

import pytest

from tests.browser import checks, roads
from tests.browser.hands import Mouse
from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors

pytestmark = pytest.mark.network
SEND = "main form button.main"


@pytest.fixture
def person(visitors: Visitors) -> Mouse:
    """A visitor whose browser asks for Vietnamese."""
    return Mouse(visitors.fresh("vi").new_page(), "vi")


def require_readable(person: Mouse, selector: str) -> None:
    """The page shows a mistake there, and it is no worse than other pages."""
    assert person.text(selector)
    faults = [*checks.in_theme(person.page, "light"), *checks.narrow(person.page)]
    assert not faults, "\n".join(faults)


def test_addresses_that_are_none(person: Mouse) -> None:
    person.go("/login/")
    person.follow(SEND)
    require_readable(person, "main .errorlist")
    person.fill("main input[name=email]", "không phải địa chỉ")
    person.follow(SEND)
    require_readable(person, "main .errorlist")


def test_three_wrong_codes_end_the_attempt(person: Mouse, site: BrowserSite) -> None:
    email = "nham.ma@duong.example.org"
    person.go("/login/")
    person.fill("main input[name=email]", email)
    person.follow(SEND)
    right = site.mailbox.wait(email).code
    wrong = "".join(str((int(digit) + 1) % 10) for digit in right if digit.isdigit())
    for _ in range(2):
        person.fill("main input[name=code]", wrong)
        person.follow(SEND)
        require_readable(person, "main .errorlist")
    person.fill("main input[name=code]", wrong)
    person.follow(SEND)
    require_readable(person, "main .notice")
    assert person.page.locator("main input[name=code]").count() == 0


def test_a_request_with_nothing_in_it(person: Mouse, site: BrowserSite) -> None:
    person.go("/")
    roads.log_in(person, site.mailbox, "voi.vang@duong.example.org")
    person.follow('header a[href="/access/"]')
    person.follow('main a[href="/access/new/"]')
    person.follow(SEND)
    person.follow('main button[name=action][value="submit"]')
    require_readable(person, "main .errorlist")
    person.tick("main input[name=noncommercial][value=no]")
    person.follow('main button[name=action][value="submit"]')
    assert "contact@gpugoblin.com" in person.text()


def test_a_code_of_no_program(person: Mouse, site: BrowserSite) -> None:
    person.go("/")
    roads.log_in(person, site.mailbox, "la.ma@duong.example.org")
    person.go("/sign-in/?code=BCDF-BCDF")
    require_readable(person, "main .notice")
