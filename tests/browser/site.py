"""The network of the browser tests: it sends mail to our post office and its database is filled."""

import json
import os
import sys
from typing import Any, Self

from tests.browser.mailbox import Mailbox
from tests.network import Network
from tests.network.addresses import HOST
from tests.network.process import run_once
from tests.network.settings import ROOT

RUN = "import django; django.setup(); from {} import main; main()"


class BrowserSite:
    """Site, scheduler and lab node; volunteers come by themselves, by the road of volunteers.

    `world` is what `tests.browser.world` made: sessions by person, and keys for addresses.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self.network = Network(volunteers=0, workers=1)
        self.mailbox = mailbox
        self.network.site.environment |= {
            "EMAIL_URL": f"smtp://{HOST}:{mailbox.port}",
            "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
        }
        self.world: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return self.network.places.site_url

    def facts(self, language: str) -> dict[str, str]:
        """Keys and codes that addresses are made with, of the world of one language."""
        return dict(self.world[language]["facts"])

    def cookies(self, who: str, language: str) -> dict[str, str]:
        """What a person's browser sends; nothing for a visitor."""
        return dict(self.world[language]["cookies"].get(who, {}))

    def run(self, module: str) -> str:
        """Call `main` of a module of the tests inside the site's environment; what it printed."""
        return run_once(
            module,
            [sys.executable, "-c", RUN.format(module)],
            self.network.site.environment,
            self.network.places.logs / f"{module}.log",
        )

    def __enter__(self) -> Self:
        self.network.start()
        try:
            self.world = json.loads(self.run("tests.browser.world"))
        except BaseException:
            self.network.stop(patient=False)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.network.stop(patient=kind is None)
