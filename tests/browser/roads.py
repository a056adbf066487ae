"""The ways that people go through the site, step by step; the tests put them together."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.browser import totp
from tests.browser.hands import Hands
from tests.browser.mailbox import Mailbox
from tests.browser.site import BrowserSite
from tests.browser.world import ANSWERS
from tests.network.process import Process
from tests.processes import wait_for

TEXTS = ("name", "institution", "position", "web_page", "field", "purpose", "size")
CODE = re.compile(r"Open (\S+)\s.*code (\S+)", re.DOTALL)
CONFIRM = 'main button[name=decision][value="confirm"]'


# --- everybody ----------------------------------------------------------------------------------
def log_in(person: Hands, mailbox: Mailbox, email: str) -> None:
    """From any page of a visitor, by the code in the mail; a new address gets an account."""
    person.follow('header a[href^="/login/"]')
    give_code(person, mailbox, email)


def give_code(person: Hands, mailbox: Mailbox, email: str) -> None:
    """From the page that asks for the address to the page behind the log-in."""
    before = len(mailbox.to(email))
    person.fill("main input[name=email]", email)
    person.follow("main form button.main")
    person.fill("main input[name=code]", mailbox.wait(email, before + 1).code)
    person.follow("main form button.main")


def log_out(person: Hands) -> None:
    """By the button in the head of every page."""
    person.follow('form[action="/logout/"] button')


# --- researchers --------------------------------------------------------------------------------
def ask_for_access(researcher: Hands, name: str) -> str:
    """From the first steps to a request that was sent; its address."""
    researcher.follow('header a[href="/access/"]')
    researcher.follow('main a[href="/access/new/"]')
    researcher.follow("main form button.main")
    for each in TEXTS:
        researcher.fill(f"main [name={each}]", name if each == "name" else ANSWERS[each])
    researcher.tick("main input[name=kinds][value=products]")
    researcher.tick("main input[name=no_confidential]")
    researcher.tick("main input[name=noncommercial][value=yes]")
    researcher.follow('main button[name=action][value="submit"]')
    return researcher.page.url


def open_lab(researcher: Hands, name: str) -> None:
    """Once the request is approved."""
    researcher.follow('header a[href="/labs/"]')
    researcher.fill("main input[name=name]", name)
    researcher.follow("main form button.main")
    assert name in researcher.text()


def connect_lab(researcher: Hands, site: BrowserSite, folder: Path) -> Path:
    """`goblin-lab init` asks for a token on the page that it names; the lab node's folder."""
    data, lab = folder / "data", folder / "lab"
    data.mkdir()
    command = ("goblin_labnode", "init", str(lab), "--root", f"data={data}")
    sign_in(researcher, start_program(site, folder, (*command, "--endpoint", "http://127.0.0.1:9")))
    return lab


# --- volunteers ---------------------------------------------------------------------------------
def join(volunteer: Hands, site: BrowserSite, folder: Path, label: str) -> Path:
    """`goblin-client join` asks for a token; the client's state directory."""
    state = folder / "state"
    command = ("goblin_client", "join", "--state", str(state), "--label", label)
    sign_in(volunteer, start_program(site, folder, command))
    return state


# --- programs -----------------------------------------------------------------------------------
def start_program(site: BrowserSite, folder: Path, command: Sequence[str]) -> Process:
    """Start a command that will sign in at the site."""
    places = site.network.places
    program = Process(
        command[0],
        [sys.executable, "-m", *command, "--site", places.site_url],
        folder / f"{command[0]}.log",
        places.environment(),
    )
    program.start()
    return program


def sign_in(person: Hands, program: Process) -> None:
    """Open the link that a program shows, see the same code there, confirm; the program ends."""
    shown = wait_for(lambda: CODE.search(_said(program)), 30)
    assert shown is not None
    person.go(shown[1])
    assert shown[2] in person.text()
    person.follow(CONFIRM)
    wait_for(lambda: not program.alive(), 30)
    assert "Joined" in _said(program) or "is set up" in _said(program), _said(program)


def _said(program: Process) -> str:
    return program.log.read_text()


# --- operators ----------------------------------------------------------------------------------
def set_up_second_factor(operator: Hands) -> str:
    """On the page that demands one; a recovery code."""
    secret = operator.text("main .copy code")
    operator.fill("main input[name=code]", totp.code(secret))
    operator.follow("main form button.main")
    recovery = operator.text("main .codes code")
    operator.follow("main a.button.main")
    return recovery


def show_second_factor(operator: Hands, code: str) -> None:
    """On the page that asks for a code of the app, or a recovery code."""
    operator.fill("main input[name=code]", code)
    operator.follow("main form button.main")


def approve(operator: Hands, applicant: str) -> None:
    """From the administration's first page to the decision on somebody's request."""
    operator.follow('a[href="/admin/research_access/accessrequest/"]')
    operator.follow(f'#result_list a:has-text("{applicant}")')
    operator.open("#approve > summary")
    operator.follow("#approve button.main")
