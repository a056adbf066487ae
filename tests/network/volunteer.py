"""The volunteers of a network."""

import sys
from collections.abc import Mapping, Sequence

from tests.network.process import Process, run_once
from tests.network.settings import Places

PROGRAM = (sys.executable, "-m", "goblin_client")


def volunteer_process(
    places: Places,
    number: int,
    token: str,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Process:
    """Let volunteer `number` join (`goblin-client join`) and describe its running process.

    `arguments` go to `run`, e.g. `--memory`; `environment` is added to the process's.
    """
    name = f"volunteer-{number}"
    state = ("--state", str(places.volunteer(number)))
    run_once(
        "goblin-client join",
        [
            *(*PROGRAM, "join", "--site", places.door_url),
            *("--label", name, *state),
        ],
        places.environment() | {"GOBLIN_VOLUNTEER_TOKEN": token},
        places.logs / f"{name}-join.log",
    )
    return Process(
        name,
        [*PROGRAM, "run", *state, "--allow-private", *arguments],
        places.logs / f"{name}.log",
        places.environment() | dict(environment or {}),
    )
