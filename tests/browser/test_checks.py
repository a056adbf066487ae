"""The checks find what they are for: pages that are wrong on purpose, and one that is right."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from tests.browser import checks
from tests.browser.visitors import Visitors
from tests.browser.words import english_in

STRICT = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
HEAD = '<!doctype html><html lang="{}"><meta charset="utf-8"><title>Trang</title>{}<body>{}</body>'
DARK_ON_DARK = "{p {color: #222; background: #111}}"
RIGHT = '<main><h1>Máy của bạn</h1><p>Chưa có máy nào. <a href="/">Về đầu</a></p></main>'
Shown = Callable[..., Page]


@pytest.fixture(scope="module")
def context(visitors: Visitors) -> BrowserContext:
    return visitors.fresh("vi", bypass_csp=True)


@pytest.fixture
def show(context: BrowserContext) -> Iterator[Shown]:
    """Open a page with this body, which no server has seen."""
    page = context.new_page()

    def shown(body: str, *, head: str = "", lang: str = "vi", policy: str = STRICT) -> Page:
        def answer(route: Route) -> None:
            route.fulfill(
                body=HEAD.format(lang, head, body),
                content_type="text/html",
                headers={"Content-Security-Policy": policy},
            )

        page.route("**/made-up", answer)
        page.goto("/made-up")
        return page

    yield shown
    page.close()


def test_a_page_that_is_right_passes(show: Shown) -> None:
    page = show(RIGHT)
    assert checks.language(page, "vi") == []
    assert checks.structure(page) == []
    assert checks.in_theme(page, "light") == checks.in_theme(page, "dark") == []
    assert checks.narrow(page) == []
    assert checks.calm(page) == []
    assert checks.keyboard(page) == []


def test_axe_is_asked_in_light_and_dark(show: Shown) -> None:
    page = show(
        "<main><h1>a</h1><img src='x.png'><p>Chữ</p></main>",
        head=f"<style>@media (prefers-color-scheme: dark) {DARK_ON_DARK}</style>",
    )
    light, dark = checks.in_theme(page, "light"), checks.in_theme(page, "dark")
    assert [fault.split(" at ")[0] for fault in light] == ["light: axe: image-alt"]
    assert [fault.split(" at ")[0] for fault in dark] == [
        "dark: axe: color-contrast",
        "dark: axe: image-alt",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "<h1>a</h1><div style='width: 700px; height: 9px'></div>",
        "<h1 style='position: absolute; left: -50px'>aaaaaaaaaa</h1>",
        "<div style='width: 90vw; overflow: visible; white-space: nowrap'><h1>"
        + "a" * 99
        + "</h1>",
    ],
)
def test_what_sticks_out_is_found(show: Shown, body: str) -> None:
    faults = checks.narrow(show(body))
    assert [fault for fault in faults if fault.startswith("320 px")]


def test_hiding_what_sticks_out_is_no_answer(show: Shown) -> None:
    faults = checks.narrow(show("<h1>a</h1>", head="<style>body {overflow-x: hidden}</style>"))
    assert "320 px: BODY hides what sticks out" in faults


def test_a_table_may_scroll_by_itself(show: Shown) -> None:
    wide = "<div style='overflow-x: auto'><div style='width: 900px; height: 9px'></div></div>"
    assert checks.narrow(show(wide)) == []


def test_motion_is_found(show: Shown) -> None:
    moving = "<h1 style='transition: opacity 1s'>a</h1>"
    assert checks.calm(show(moving)) == ["motion: h1. takes 1 s"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<a href='/' style='outline: none'>Đi</a>", 'no sign of the focus: a "Đi"'),
        (
            "<button onkeydown='event.preventDefault()'>Một</button><button>Hai</button>",
            'never reached: button "Hai"',
        ),
        (
            "<a href='/' style='position: absolute; top: -999px'>Đi</a>",
            'focused out of sight: a "Đi"',
        ),
    ],
)
def test_what_a_keyboard_cannot_use_is_found(show: Shown, body: str, fault: str) -> None:
    assert f"keyboard: {fault}" in checks.keyboard(show(f"<h1>a</h1>{body}"))


def test_languages_are_told_apart(show: Shown) -> None:
    page = show(
        "<h1>Trang chủ</h1><p title='Your machines'>Bạn <code>the name</code></p>", lang="en"
    )
    assert checks.language(page, "vi") == [
        "lang is 'en', not 'vi'",
        "English ['Your', 'machines'] in 'Your machines'",
    ]


def test_words_of_both_languages_and_names_are_no_english() -> None:
    assert (
        english_in(
            "Máy may do bạn in ra, so với cam; GPU Goblin, Python, token, contact@gpugoblin.com"
        )
        == []
    )
    assert english_in("Máy này is waiting") == ["is", "waiting"]


def test_structure(show: Shown) -> None:
    page = show("<h2>a</h2><script>1</script>", head="<style>p {}</style>")
    assert checks.structure(page) == [
        "0 h1",
        "1 inline styles",
        "1 inline scripts",
    ]


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        ("", "default-src is None"),
        (
            f"{STRICT}; script-src 'unsafe-inline'",
            "the policy allows 'unsafe-inline' for script-src",
        ),
        (f"{STRICT}; style-src https:", "the policy allows https: for style-src"),
        (
            "default-src 'self'; base-uri 'none'; form-action 'self'",
            "the policy has no frame-ancestors",
        ),
    ],
)
def test_a_lax_policy_is_found(show: Shown, policy: str, fault: str) -> None:
    page = show(RIGHT, policy=policy)
    answer = page.reload()
    assert answer is not None
    assert fault in checks.policy(answer)
    assert checks.policy(answer) != []


def test_a_style_attribute_is_told_by_the_console(visitors: Visitors) -> None:
    page = visitors.fresh("vi").new_page()
    ear = checks.Ear(page)
    page.goto("/")
    page.evaluate("document.body.innerHTML = '<p style=color:red>a</p>'")
    assert "Content Security Policy" in " ".join(ear.take())


def test_the_console_is_heard(context: BrowserContext) -> None:
    page = context.new_page()
    ear = checks.Ear(page)
    page.set_content("<script>console.log('hoot'); undefined.x; fetch('/no-such-file')</script>")
    page.wait_for_timeout(300)
    heard = ear.take()
    assert "console: hoot" in heard
    assert any(each.startswith("script: ") for each in heard)
    assert ear.take() == []
