"""A whole network: site, lab node, volunteers, each a process of its own."""

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Self

import gpugoblin
from goblin_wire.http import HttpClient
from goblin_wire.volunteer import VolunteerStatus
from gpugoblin import Lab
from tests.network.errors import NetworkError
from tests.network.lab import lab_process
from tests.network.process import Process
from tests.network.settings import Places
from tests.network.site import People, Site
from tests.network.temporary import TemporaryFolder
from tests.network.volunteer import volunteer_process

PARTS = ("web", "waiting", "scheduler")
"""The processes of a site besides its database."""


class Network:
    """Use it as a context manager, from a thread that outlives it (the main one).

    `processes` maps names (database, web, waiting, scheduler, lab, volunteer-1, ...) to processes.
    With `folder` given it is kept, else a temporary one is made and removed at the end.
    `volunteer_environment`, set before the start, is added to what volunteers find.
    `durable` asks the database to survive a crash of the machine, not only of its processes.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        volunteers: int = 2,
        volunteer_arguments: Sequence[str] = ("--threads", "1"),
        lab_arguments: Sequence[str] = (),
        durable: bool = False,
        workers: int = 2,
    ) -> None:
        self._temporary: TemporaryFolder | None = None
        if folder is None:
            self._temporary = TemporaryFolder()
            folder = self._temporary.path
        self._volunteers = volunteers
        self._volunteer_arguments = volunteer_arguments
        self.lab_arguments = lab_arguments
        self.volunteer_environment: Mapping[str, str] = {}
        self.places = Places(folder)
        self.site = Site(self.places, durable=durable, workers=workers)
        self.processes: dict[str, Process] = {}
        self.people: People | None = None

    def start(self) -> None:
        """Start everything; returns when the volunteers are known to the lab node."""
        self.places.make()
        try:
            self.start_site()
            with ThreadPoolExecutor(1) as pool:
                lab = pool.submit(self.make_lab)
                self.start_volunteers()
                self.wait_for_volunteers()
                # Last, as a lab that has nothing to do asks for the network's figures rarely.
                self._start(lab.result()).wait_ready()
            self.wait_for_figures()
        except BaseException:
            self.stop(patient=False)
            raise

    def start_site(self, parts: Collection[str] = PARTS) -> None:
        """Database, tables and people, then those of `parts` (web, waiting, scheduler)."""
        self.places.make()
        self.processes["database"] = self.site.database
        self.site.start_database()
        loading = [each for each in (self.site.web, self.site.waiting) if each.name in parts]
        for process in loading:  # while the tables are made
            self._start(process)
        self.people = self.site.prepare(self._volunteers)
        late = [each for each in (self.site.scheduler,) if each.name in parts]
        for process in late:
            self._start(process)
        for process in (*loading, *late):
            process.wait_ready()

    def make_lab(self) -> Process:
        """Set up the lab node; `start_lab` serves it too."""
        return lab_process(self.places, self.known_people(), self.lab_arguments)

    def start_lab(self) -> None:
        """Set up and serve the lab node."""
        self._start(self.make_lab()).wait_ready()

    def start_volunteers(self) -> None:
        """Join and run the volunteers."""
        tokens = self.known_people().volunteer_tokens
        with ThreadPoolExecutor() as pool:
            joined = pool.map(
                lambda number: volunteer_process(
                    self.places,
                    number,
                    tokens[number - 1],
                    self._volunteer_arguments,
                    self.volunteer_environment,
                ),
                range(1, self._volunteers + 1),
            )
            processes = list(joined)
        for process in processes:  # from this thread, which stays
            self._start(process)

    def wait_for_volunteers(self, seconds: float = 30.0) -> None:
        """Return when the site has heard of every volunteer's machine."""
        deadline = time.monotonic() + seconds
        for token in self.known_people().volunteer_tokens[: self._volunteers]:
            with closing(HttpClient(self.places.site_url, authorization=f"Bearer {token}")) as site:
                while not site.call("GET", "/api/v1/volunteer/status", None, VolunteerStatus).hosts:
                    self.check()
                    if time.monotonic() > deadline:
                        raise NetworkError(f"a volunteer is missing\n{self.last_words()}")
                    time.sleep(0.05)

    def wait_for_figures(self, seconds: float = 30.0) -> None:
        """Return when the lab node knows of all volunteers, so that it plans for them."""
        lab = self.connect()
        deadline = time.monotonic() + seconds
        while lab.info().network.devices < self._volunteers:
            self.check()
            if time.monotonic() > deadline:
                raise NetworkError(f"the lab node knows too few volunteers\n{self.last_words()}")
            time.sleep(0.02)

    def connect(self) -> Lab:
        """The researcher's view: `gpugoblin.connect` to this network's lab node."""
        return gpugoblin.connect(self.places.lab)

    def kill(self, name: str, *, whole: bool = False) -> None:
        """kill -9 of one process; with `whole` its children too."""
        self.processes[name].kill(whole=whole)

    def stop_process(self, name: str) -> bool:
        """SIGTERM to one process and wait; False when it had to be killed."""
        return self.processes[name].stop()

    def restart(self, name: str, *, ready: bool = True) -> None:
        """Start a process again that was killed or stopped."""
        self.processes[name].start()
        if ready:
            self.processes[name].wait_ready()

    def check(self) -> None:
        """NetworkError with the end of its log if a process has ended by itself."""
        for process in self.processes.values():
            if not process.alive():
                raise NetworkError(f"{process.name} ended: {process.last_words()}")

    def stop(self, *, patient: bool = True) -> list[str]:
        """Stop everything; the names of those that had to be killed.

        Without patience all but the database are killed at once: a kill harms nothing.
        """
        others = [self.processes[name] for name in reversed(self.processes) if name != "database"]
        for process in others:
            process.ask_to_stop() if patient else process.kill(whole=True)
        # The database last: the others still write to it, and its files are removed next.
        ended = [*others, *(part for part in self.processes.values() if part.name == "database")]
        stubborn = [process.name for process in ended if not process.stop()]
        self.processes.clear()
        if self._temporary is not None:
            self._temporary.remove()
        return stubborn

    def last_words(self) -> str:
        """The end of every log, for messages."""
        return "\n".join(
            f"--- {process.name}\n{process.last_words(800)}" for process in self.processes.values()
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop(patient=kind is None)

    def _start(self, process: Process) -> Process:
        self.processes[process.name] = process
        process.start()
        return process

    def known_people(self) -> People:
        """Who is in the network; NetworkError before the site was started."""
        if self.people is None:
            raise NetworkError("the site was not started")
        return self.people
