"""What must hold on a page, each check as a list of faults: an empty one is a pass."""

import re
from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Page, Response, ViewportSize

from tests.browser.words import english_in

SCRIPTS = {path.stem: path.read_text() for path in (Path(__file__).parent / "scripts").glob("*.js")}
# Without `preload`, which loads style sheets again in ways that our policy forbids. Contrast takes
# longest; of a hundred and more operators, which one template writes, the first ones are asked.
AXE = """async () => {
  const asked = {resultTypes: ["violations"], preload: false};
  const found = async (context, options) => {
    return (await axe.run(context, {...asked, ...options})).violations;
  };
  if (document.querySelectorAll(".operator").length < 20) return found(document, {});
  const few = {exclude: [".operator ~ .operator ~ .operator"]};
  return [
    ...await found(document, {rules: {"color-contrast": {enabled: false}}}),
    ...await found(few, {runOnly: ["color-contrast"]}),
  ];
}"""
PHONE = ViewportSize(width=320, height=640)
ZOOMED = ViewportSize(width=640, height=360)
"""A window of 1280 x 720 at 200 %."""
DESK = ViewportSize(width=1280, height=800)
TAB = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
LAXITIES = ("unsafe-inline", "unsafe-eval", "unsafe-hashes", "http:", "https:", "*", "data:")


def accessibility(page: Page) -> list[str]:
    """What axe finds on the page as it is now."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    return [
        f"axe: {violation['id']} at {' '.join(map(str, node['target']))}: {node['html'][:160]}"
        for violation in page.evaluate(AXE)
        for node in violation["nodes"][:3]
    ]


def in_theme(page: Page, theme: Literal["light", "dark"]) -> list[str]:
    """What axe finds, contrasts included, when the reader's system asks for this theme."""
    page.emulate_media(color_scheme=theme)
    return [f"{theme}: {fault}" for fault in accessibility(page)]


def narrow(page: Page) -> list[str]:
    """Sideways scrolling on the smallest phone and at 200 %."""
    faults = []
    for name, size in (("320 px", PHONE), ("200 %", ZOOMED)):
        page.set_viewport_size(size)
        faults += [f"{name}: {fault}" for fault in page.evaluate(SCRIPTS["overflow"])]
    page.set_viewport_size(DESK)
    return faults


def calm(page: Page) -> list[str]:
    """What moves for a reader who asked for reduced motion, as everybody here does: so no check
    looks at a colour that is on its way to another."""
    return [f"motion: {fault}" for fault in page.evaluate(SCRIPTS["motion"])]


def keyboard(page: Page) -> list[str]:
    """What Tab does not reach, reaches without showing it, or is caught in."""
    presses = page.evaluate(SCRIPTS["reachable"])
    # Pressed by the browser's own protocol: there are ten thousand in all, and Playwright's wait
    # for more than is needed here.
    keys = page.context.new_cdp_session(page)
    for _ in range(presses):
        keys.send("Input.dispatchKeyEvent", TAB)
    keys.detach()
    return [f"keyboard: {fault}" for fault in page.evaluate(SCRIPTS["reached"])]


def language(page: Page, wanted: str) -> list[str]:
    """The language that the page says it has, and on Vietnamese pages what is English still."""
    said = page.locator("html").get_attribute("lang")
    faults = [] if said == wanted else [f"lang is {said!r}, not {wanted!r}"]
    if wanted == "vi":
        texts = dict.fromkeys(page.evaluate(SCRIPTS["words"]))
        left = {text: english_in(text) for text in texts}
        faults += [f"English {words} in {text[:80]!r}" for text, words in left.items() if words]
    return faults


def structure(page: Page) -> list[str]:
    """One first heading, a title of its own, no style sheet or script written into the page.

    A style attribute is refused by the policy, which the console tells; a script may set one.
    """
    found = {
        "h1": page.locator("h1").count(),
        "inline styles": page.locator("style").count(),
        "inline scripts": page.locator("script:not([src]):not([type='application/json'])").count(),
    }
    faults = [f"{count} {name}" for name, count in found.items() if count != (name == "h1")]
    return faults if page.title().strip() else [*faults, "no title"]


def policy(answer: Response) -> list[str]:
    """What a Content-Security-Policy header leaves open that a strict one closes."""
    header = answer.headers.get("content-security-policy", "")
    rules = {rule.split()[0]: rule.split()[1:] for rule in header.split(";") if rule.strip()}
    faults = [
        f"the policy has no {name}"
        for name in ("default-src", "base-uri", "form-action", "frame-ancestors")
        if name not in rules
    ]
    for name, sources in rules.items():
        lax = [source for source in sources if source.strip("'") in LAXITIES]
        lax = [source for source in lax if (name, source) != ("img-src", "data:")]
        faults += [f"the policy allows {source} for {name}" for source in lax]
    if rules.get("default-src") not in (["'none'"], ["'self'"]):
        faults.append(f"default-src is {rules.get('default-src')}")
    return faults


class Ear:
    """Hears what a page tells its console, and what it asks for in vain."""

    def __init__(self, page: Page) -> None:
        self.heard: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.heard.append(f"script: {error}"))
        page.on("response", self._response)

    def take(self) -> list[str]:
        """What was heard since the last time."""
        heard, self.heard = self.heard, []
        return heard

    def _console(self, message: ConsoleMessage) -> None:
        # That a page itself answers with 404 is the browser's remark, and checked elsewhere.
        of_page = message.page is not None and message.location["url"] == message.page.url
        if not (of_page and message.text.startswith("Failed to load resource")):
            self.heard.append(f"console: {message.text}")

    def _response(self, answer: Response) -> None:
        if answer.status >= 400 and not answer.request.is_navigation_request():
            self.heard.append(f"{answer.status} for {re.sub('[?].*', '', answer.url)}")
