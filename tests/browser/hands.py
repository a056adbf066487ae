"""How people work a page: with a mouse, or with a keyboard alone."""

from abc import ABC, abstractmethod

from playwright.sync_api import Locator, Page

from tests.browser.checks import Ear, language

MOST_STOPS = 150
FOCUSED = "element => element === document.activeElement"


class Hands(ABC):
    """Somebody before a page; each step fails if it can't be done, or if the page complains."""

    def __init__(self, page: Page, speaks: str) -> None:
        self.page = page
        self.speaks = speaks
        self.ear = Ear(page)

    def go(self, path: str) -> None:
        """Type an address."""
        self.page.goto(path)
        self.check()

    def follow(self, selector: str) -> None:
        """Use a link or a button that leads to a page (perhaps the same one, changed)."""
        with self.page.expect_navigation():
            self.use(self.page.locator(selector).first)
        self.check()

    def open(self, selector: str) -> None:
        """Unfold something on the page."""
        self.use(self.page.locator(selector).first)

    def fill(self, selector: str, text: str) -> None:
        """Replace what stands in a field."""
        self.write(self.page.locator(selector).first, text)

    def tick(self, selector: str) -> None:
        """Switch on a box or a radio button."""
        box = self.page.locator(selector).first
        if not box.is_checked():
            self.mark(box)
        assert box.is_checked()

    def text(self, selector: str = "main") -> str:
        """What is to be read."""
        return self.page.locator(selector).first.inner_text()

    def check(self) -> None:
        """The page has not failed, its console is silent, and it speaks the reader's language."""
        heard = self.ear.take()
        assert not heard, (self.page.url, heard)
        assert self.page.locator("h1").count() == 1, (self.page.url, self.text("body")[:500])
        faults = language(self.page, self.speaks)
        assert not faults, (self.page.url, faults)

    @abstractmethod
    def use(self, element: Locator) -> None: ...

    @abstractmethod
    def write(self, field: Locator, text: str) -> None: ...

    @abstractmethod
    def mark(self, box: Locator) -> None: ...


class Mouse(Hands):
    """Clicks."""

    def use(self, element: Locator) -> None:
        element.click()

    def write(self, field: Locator, text: str) -> None:
        field.fill(text)

    def mark(self, box: Locator) -> None:
        box.check()


class Keyboard(Hands):
    """Reaches everything with Tab, and presses Enter or the space bar."""

    def use(self, element: Locator) -> None:
        self.reach(element)
        self.page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        self.reach(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def mark(self, box: Locator) -> None:
        self.reach(box)
        self.page.keyboard.press("Space")

    def reach(self, element: Locator) -> None:
        """Press Tab until the element has the focus."""
        for _ in range(MOST_STOPS):
            if element.evaluate(FOCUSED):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never reached {element} on {self.page.url}")
