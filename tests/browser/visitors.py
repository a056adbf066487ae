"""Who looks at pages: a browser context per person and language, logged in when first needed."""

from dataclasses import dataclass
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.checks import DESK, Ear
from tests.browser.site import BrowserSite

LANGUAGES = ("en", "vi")


@dataclass(frozen=True)
class Visitor:
    """A page of one person's browser, and what it tells its console."""

    page: Page
    ear: Ear


class Visitors:
    """Contexts of one browser; each has the cookies of one person."""

    def __init__(self, browser: Browser, site: BrowserSite) -> None:
        self._browser = browser
        self._site = site
        self._contexts: list[BrowserContext] = []
        self._known: dict[tuple[str, str, bool], Visitor] = {}

    def page(self, who: str, language: str, *, scripts: bool = True) -> Visitor:
        """The page of a person of the world, logged in; the same one each time."""
        key = (who, language, scripts)
        if key not in self._known:
            context = self.fresh(language, java_script_enabled=scripts)
            context.add_init_script(AXE_SCRIPT)  # once here, not once for each page
            for name, value in self._site.cookies(who, language).items():
                context.add_cookies([{"name": name, "value": value, "url": self._site.url}])
            page = context.new_page()
            self._known[key] = Visitor(page, Ear(page))
        return self._known[key]

    def fresh(self, language: str, **options: Any) -> BrowserContext:
        """Somebody who has never been here and whose browser asks for `language`."""
        context = self._browser.new_context(
            base_url=self._site.url,
            locale={"en": "en-GB", "vi": "vi-VN"}[language],
            timezone_id="Asia/Ho_Chi_Minh",
            viewport=DESK,
            color_scheme="light",
            reduced_motion="reduce",
            **options,
        )
        context.set_default_timeout(10_000)
        self._contexts.append(context)
        return context

    def close(self) -> None:
        """Close all of them."""
        for context in self._contexts:
            context.close()
