"""What a network is made of: folders, ports, and the environment of its processes."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.network.addresses import HOST, free_ports

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = (
    "DATABASE_URL",
    "DJANGO_",
    "GOBLIN_",
    "GPUGOBLIN_",
    "SECRET_KEY",
    "XDG_",
    "PYTHONWARNINGS",
)


@dataclass(frozen=True)
class Ports:
    """A port of the loopback address for every listener."""

    database: int
    web: int
    waiting: int
    lab_data: int
    lab_control: int

    @classmethod
    def free(cls) -> "Ports":
        """Ports that nobody uses now."""
        return cls(*free_ports(5))


@dataclass(frozen=True)
class Places:
    """The folders of a network below one folder of its own."""

    folder: Path
    ports: Ports = field(default_factory=Ports.free)
    door: int = 0
    """Port at which lab nodes and volunteers reach the site, if not gunicorn's own."""

    @property
    def logs(self) -> Path:
        """One log file per process."""
        return self.folder / "logs"

    @property
    def postgres(self) -> Path:
        """The data of the database."""
        return self.folder / "postgres"

    @property
    def site(self) -> Path:
        """The site's state: keys."""
        return self.folder / "site"

    @property
    def lab(self) -> Path:
        """The lab node's folder; what `gpugoblin.connect` takes."""
        return self.folder / "lab"

    @property
    def data(self) -> Path:
        """The lab's data root, named `data`."""
        return self.folder / "data"

    def volunteer(self, number: int) -> Path:
        """The state directory of volunteer 1, 2, ..."""
        return self.folder / f"volunteer-{number}"

    @property
    def site_url(self) -> str:
        """Where gunicorn answers."""
        return f"http://{HOST}:{self.ports.web}"

    @property
    def door_url(self) -> str:
        """The site's address as lab nodes and volunteers are told it."""
        return f"http://{HOST}:{self.door or self.ports.web}"

    @property
    def wait_url(self) -> str:
        """Where the waiting process answers."""
        return f"http://{HOST}:{self.ports.waiting}"

    def make(self) -> None:
        """Create the folders; the data of the lab and the logs are private to us."""
        for path in (self.logs, self.data, self.folder / "home"):
            path.mkdir(mode=0o700, exist_ok=True)

    def environment(self) -> dict[str, str]:
        """Ours without what would lead a process to another network or into a person's settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        home = self.folder / "home"
        return kept | {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "NO_PROXY": HOST,
            "PYTHONUNBUFFERED": "1",
        }
