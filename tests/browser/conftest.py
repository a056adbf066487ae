"""One network, one browser and one filled database for all browser tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium
from tests.browser.mailbox import Mailbox
from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors


@pytest.fixture(scope="package", autouse=True)
def _chromium() -> None:
    """Skip loudly where there is no browser, or fail where one must be."""
    if chromium.executable() is None:
        (pytest.fail if chromium.required() else pytest.skip)(chromium.MISSING)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it once more at the end, where nobody overlooks it."""
    if chromium.executable() is None:
        terminalreporter.write_line(f"*** {chromium.MISSING}", yellow=True, bold=True)


@pytest.fixture(scope="package")
def mailbox(_chromium: None) -> Iterator[Mailbox]:
    with Mailbox() as box:
        yield box


@pytest.fixture(scope="package")
def site(mailbox: Mailbox) -> Iterator[BrowserSite]:
    """The network with its database filled; leave nothing half done."""
    with BrowserSite(mailbox) as running:
        yield running
        running.network.check()


@pytest.fixture(scope="package")
def browser(site: BrowserSite) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="package")
def visitors(browser: Browser, site: BrowserSite) -> Iterator[Visitors]:
    """Everybody whose pages are looked at, already logged in."""
    everybody = Visitors(browser, site)
    yield everybody
    everybody.close()
