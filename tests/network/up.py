"""`make up`: the network of the demo, left running until Ctrl-C."""

import time

from tests.network.network import Network


def up(volunteers: int = 2) -> int:
    """Start a network, tell how to reach it, watch it until interrupted."""
    with Network(volunteers=volunteers) as network:
        places, people = network.places, network.people
        assert people is not None
        print(
            f"""\
site            {places.site_url}
administration  {places.site_url}/admin/   (python manage.py login_link EMAIL, see docs)
researcher      {people.researcher}
lab node        {places.lab}   data root: {places.data}
logs            {places.logs}

    import gpugoblin
    lab = gpugoblin.connect("{places.lab}")

Ctrl-C stops everything and removes {places.folder}.""",
            flush=True,
        )
        while True:
            network.check()
            time.sleep(1)
