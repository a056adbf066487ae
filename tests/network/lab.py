"""The lab node of a network."""

import sys
from collections.abc import Sequence

from tests.network.addresses import HOST, listens
from tests.network.process import Process, run_once
from tests.network.settings import Places
from tests.network.site import People


def lab_process(places: Places, people: People, arguments: Sequence[str] = ()) -> Process:
    """Set up the lab node's folder (`goblin-lab init`) and describe its serving process.

    `arguments` go to `init`, e.g. another `--endpoint`.
    """
    program = [sys.executable, "-m", "goblin_labnode"]
    ports = places.ports
    run_once(
        "goblin-lab init",
        [
            *(*program, "init", str(places.lab), "--site", places.door_url),
            *("--root", f"data={places.data}"),
            *("--endpoint", f"http://{HOST}:{ports.lab_data}"),
            *("--data-port", str(ports.lab_data), "--control-port", str(ports.lab_control)),
            *arguments,
        ],
        places.environment() | {"GOBLIN_LAB_TOKEN": people.lab_token},
        places.logs / "lab-init.log",
    )
    return Process(
        "lab",
        [*program, "serve", str(places.lab)],
        places.logs / "lab.log",
        places.environment(),
        lambda: listens(ports.lab_data) and listens(ports.lab_control),
    )
