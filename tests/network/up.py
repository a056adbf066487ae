"""`make up`: the network of the demo, left running until Ctrl-C."""

import time

from tests.network.network import Network


def up(volunteers: int = 2) -> int:
    """Start a network, tell how to reach it, watch it until interrupted."""
    with Network(volunteers=volunteers) as network:
        places, people = network.places, network.known_people()
        print(
            f"""\
site            {places.site_url}
administration  {login_link(network, people.reviewer)}
researcher      {login_link(network, people.researcher)}
lab node        {places.lab}   data root: {places.data}
logs            {places.logs}

    import gpugoblin
    lab = gpugoblin.connect("{places.lab}")

Each link logs in once. Ctrl-C stops everything and removes {places.folder}.""",
            flush=True,
        )
        while True:
            network.check()
            time.sleep(1)


def login_link(network: Network, email: str) -> str:
    """A link that logs this person in, once."""
    return network.site.manage("login_link", email).split()[-1]
