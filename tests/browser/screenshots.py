"""`make screenshots`: a picture of every page, at two widths, light and dark, in both languages.

Written into the folder that is named, with an `index.html` that shows them all.
"""

import html
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import django
from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.browser import chromium
from tests.browser.mailbox import Mailbox
from tests.browser.pages import Place, every_page
from tests.browser.site import BrowserSite
from tests.browser.visitors import LANGUAGES, Visitors

WIDTHS = (ViewportSize(width=390, height=844), ViewportSize(width=1280, height=900))
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
TALLEST = 6000
"""Pixels of a page that a picture shows; the catalogue is ten times as long."""
INDEX = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Screenshots</title><style>
body {{ font: 14px sans-serif; background: #777 }} figure {{ display: inline-block; margin: 4px;
vertical-align: top }}</style>{}</html>
"""
FIGURE = (
    '<figure><a href="{name}"><img width="{width}" loading="lazy" src="{name}" alt="{name}"></a>'
    "</figure>"
)


def main(arguments: list[str]) -> int:
    """Write the pictures; 1 with a sentence where there is no browser."""
    if chromium.executable() is None:
        print(chromium.MISSING, file=sys.stderr)
        return 1
    folder = Path(arguments[0]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as state:
        # For the addresses of pages; the site itself runs in processes of its own.
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
            "GOBLIN_STATE_DIR": state,
            "LOG_LEVEL": "ERROR",
        }
        django.setup()
        take_all(
            [place for place in every_page() if place.title in arguments[1:] or not arguments[1:]],
            folder,
        )
    print(f"Look at {folder / 'index.html'}")
    return 0


def take_all(places: list[Place], folder: Path) -> None:
    """Start a network and look at each place as its person does, in both languages."""
    with Mailbox() as mailbox, BrowserSite(mailbox) as site, sync_playwright() as playwright:
        visitors = Visitors(chromium.launch(playwright), site)
        for place in places:
            print(place.title, flush=True)
            for language in LANGUAGES:
                page = visitors.page(place.who, language).page
                page.goto(place.address(site.facts(language)))
                take(page, folder, f"{place.title}-{language}")
    (folder / "index.html").write_text(index(places))


def take(page: Page, folder: Path, name: str) -> None:
    """The pictures of a page that is open."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        for size in WIDTHS:
            page.set_viewport_size(size)
            height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
            page.screenshot(
                path=folder / f"{name}-{theme}-{size['width']}.png",
                full_page=True,
                clip={"x": 0, "y": 0, "width": size["width"], "height": height},
            )


def index(places: Iterable[Place]) -> str:
    """A page with all pictures, one heading for each page."""
    parts = []
    for place in places:
        parts.append(f"<h2>{html.escape(place.title)}</h2>")
        for language, theme, size in itertools.product(LANGUAGES, THEMES, WIDTHS):
            name = html.escape(f"{place.title}-{language}-{theme}-{size['width']}.png")
            parts.append(FIGURE.format(name=name, width=size["width"] * 3 // 8))
    return INDEX.format("\n".join(parts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
