"""The processes of the site: database, web, waiting, scheduler."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from gpugoblin_site.embedded_postgres.server import answers
from tests.network.addresses import HOST, answers_ok, listens
from tests.network.process import Process, run_once
from tests.network.settings import ROOT, Places

PREPARE = """
import sys
import django
from django.core.management import call_command
django.setup()
call_command("migrate", verbosity=0)
call_command("make_network_people", volunteers=int(sys.argv[1]), json=True)
"""


@dataclass(frozen=True)
class People:
    """Who is in the network, as `manage.py make_network_people` tells it."""

    lab: str
    lab_token: str
    volunteer_tokens: list[str]
    researcher: str
    reviewer: str


class Site:
    """Starts the parts of the site one after another; each is an entry of `processes`."""

    def __init__(self, places: Places, *, durable: bool = False, workers: int = 2) -> None:
        self._places = places
        self.environment = places.environment() | {
            "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
            "GOBLIN_STATE_DIR": str(places.site),
            "GOBLIN_SITE_URL": places.site_url,
            "GOBLIN_WAIT_URL": places.wait_url,
            "GOBLIN_ALLOW_PRIVATE_ENDPOINTS": "1",
        }
        self.database = self._database(durable)
        self.web = self._web(workers)
        self.waiting = self._waiting()
        self.scheduler = self._manage("scheduler", "runscheduler")

    @property
    def database_url(self) -> str:
        """For DATABASE_URL; the database must have been started once."""
        return str(json.loads((self._places.postgres / "server.json").read_text())["url"])

    def start_database(self) -> None:
        """Start the database and make its address known to the other processes."""
        self.database.start()
        self.database.wait_ready()
        self.environment["DATABASE_URL"] = self.database_url

    def prepare(self, volunteers: int) -> People:
        """Create tables and people, in one process."""
        told = json.loads(
            run_once(
                "the first set-up of the site",
                [sys.executable, "-c", PREPARE, str(volunteers)],
                # What it prints is read; mails about the first requests go into files.
                self.environment | {"EMAIL_URL": f"filemail://{self._places.site / 'mail'}"},
                self._log("prepare"),
            )
        )
        return People(
            lab=told["lab"]["id"],
            lab_token=told["lab"]["token"],
            volunteer_tokens=[volunteer["token"] for volunteer in told["volunteers"]],
            researcher=told["researcher_email"],
            reviewer=told["reviewer_email"],
        )

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py to its end; what it printed."""
        return run_once(
            f"manage.py {arguments[0]}",
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            self.environment,
            self._log(arguments[0]),
        )

    def _log(self, name: str) -> Path:
        return self._places.logs / f"{name}.log"

    def _database(self, durable: bool) -> Process:
        announcement = self._places.postgres / "server.json"

        def ready() -> bool:
            return announcement.exists() and answers(self.database_url)

        command = [
            *(sys.executable, "-P", "-m", "gpugoblin_site.embedded_postgres"),
            *("--data", str(self._places.postgres), "--port", str(self._places.ports.database)),
            *(() if durable else ("--not-durable",)),
        ]
        return Process(
            "database", command, self._log("database"), self._places.environment(), ready, 60.0
        )

    def _web(self, workers: int) -> Process:
        command = [
            *(sys.executable, "-m", "gunicorn", "gpugoblin_site.wsgi"),
            *("--bind", f"{HOST}:{self._places.ports.web}", "--worker-class", "gthread"),
            *("--workers", str(workers), "--threads", "8", "--graceful-timeout", "1"),
        ]
        return Process(
            "web",
            command,
            self._log("web"),
            self.environment,
            lambda: answers_ok(f"{self._places.site_url}/readyz"),
        )

    def _waiting(self) -> Process:
        port = self._places.ports.waiting
        command = [
            *(sys.executable, "-m", "uvicorn", "gpugoblin_site.asgi_wait:app"),
            *("--host", HOST, "--port", str(port), "--log-level", "warning"),
        ]
        return Process(
            "waiting", command, self._log("waiting"), self.environment, lambda: listens(port)
        )

    def _manage(self, name: str, *arguments: str) -> Process:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return Process(name, command, self._log(name), self.environment)
