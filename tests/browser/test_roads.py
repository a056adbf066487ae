"""The roads from the first page to what people come for, walked as people walk them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from goblin_client.directory import StateDirectory
from goblin_labnode.config import Folder
from goblin_labnode.keys import load_secrets
from goblin_wire.tokens import Scope, split_token
from tests.browser import roads
from tests.browser.hands import Hands, Keyboard, Mouse
from tests.browser.mailbox import Mailbox
from tests.browser.site import BrowserSite
from tests.browser.visitors import Visitors
from tests.network.process import Process
from tests.processes import wait_for

pytestmark = pytest.mark.network
SIZE = 1024
RUN = ("--allow-private", "--threads", "1")


class Way(NamedTuple):
    """In which language and with which hands a road is walked."""

    language: str
    hands: type[Hands] = Mouse
    scripts: bool = True

    @property
    def name(self) -> str:
        return f"{self.language}-{self.hands.__name__.lower()}{'' if self.scripts else '-plain'}"


CLICKING = (Way("en"), Way("vi"))
WAYS = (*CLICKING, Way("vi", Keyboard), Way("en", scripts=False))


class Walk(NamedTuple):
    """A way, and everything that is met on it."""

    way: Way
    site: BrowserSite
    visitors: Visitors
    folder: Path

    @property
    def mailbox(self) -> Mailbox:
        return self.site.mailbox

    def person(self) -> Hands:
        """Somebody new, on the first page."""
        context = self.visitors.fresh(self.way.language, java_script_enabled=self.way.scripts)
        person = self.way.hands(context.new_page(), self.way.language)
        person.go("/")
        return person

    def email(self, who: str) -> str:
        return f"{who}.{self.way.name}@duong.example.org"


@contextmanager
def computing(walk: Walk, state: Path) -> Iterator[None]:
    """A volunteer's machine at work."""
    client = Process(
        "client",
        [sys.executable, "-m", "goblin_client", "run", "--state", str(state), *RUN],
        walk.folder / "run.log",
        walk.site.network.places.environment(),
    )
    client.start()
    try:
        yield
        assert client.alive(), client.last_words()
    finally:
        client.stop()


def product(walk: Walk) -> None:
    """A real product in the lab of the network."""
    data = walk.site.network.places.data
    a = np.random.default_rng(1).standard_normal((SIZE, SIZE), dtype=np.float32)
    np.save(data / f"{walk.way.name}.npy", a)
    lab = walk.site.network.connect()
    left = lab.open(f"data/{walk.way.name}.npy")
    result = (left @ left).submit(out=f"data/{walk.way.name}-out.npy").result(timeout=60)
    assert np.abs(np.asarray(result) - a @ a).max() < 1e-2


def reloaded(person: Hands) -> str:
    """What the page says now."""
    person.go(person.page.url)
    return person.text()


@pytest.fixture
def walk(
    request: pytest.FixtureRequest, site: BrowserSite, visitors: Visitors, tmp_path: Path
) -> Walk:
    return Walk(request.param, site, visitors, tmp_path)


def ways(*chosen: Way) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("walk", chosen, ids=[way.name for way in chosen], indirect=True)


@ways(*WAYS)
def test_from_sign_up_to_a_lab_token_and_from_make_operator_to_a_decision(walk: Walk) -> None:
    researcher, operator = walk.person(), walk.person()
    roads.log_in(researcher, walk.mailbox, walk.email("researcher"))
    address = roads.ask_for_access(researcher, walk.way.name)

    walk.site.network.site.manage("make_operator", walk.email("operator"))
    operator.go("/admin/")
    roads.give_code(operator, walk.mailbox, walk.email("operator"))
    recovery = roads.set_up_second_factor(operator)
    roads.log_out(operator)
    operator.go("/admin/")
    roads.give_code(operator, walk.mailbox, walk.email("operator"))
    roads.show_second_factor(operator, recovery)
    roads.approve(operator, walk.way.name)

    researcher.go(address)
    roads.open_lab(researcher, "Phòng lab số một")
    lab = Folder(roads.connect_lab(researcher, walk.site, walk.folder))
    token = split_token(load_secrets(lab).token)
    assert token is not None
    assert token.scope is Scope.LAB


@ways(*WAYS[2:])
def test_from_sign_up_to_a_joined_machine(walk: Walk) -> None:
    volunteer = walk.person()
    roads.log_in(volunteer, walk.mailbox, walk.email("volunteer"))
    state = roads.join(volunteer, walk.site, walk.folder, "máy bàn")
    assert StateDirectory(state).membership().label == "máy bàn"


@ways(*CLICKING)
def test_from_sign_up_to_a_computing_machine_with_credit(walk: Walk) -> None:
    volunteer = walk.person()
    roads.log_in(volunteer, walk.mailbox, walk.email("volunteer"))
    state = roads.join(volunteer, walk.site, walk.folder, "máy bàn")
    with computing(walk, state):
        volunteer.go("/machines/")
        wait_for(lambda: "máy bàn" in reloaded(volunteer), 20)
        product(walk)
        volunteer.follow('header a[href="/contribution/"]')
        wait_for(lambda: "GFLOP" in reloaded(volunteer), 20)
