"""`make up`: the network of the demo, left running until Ctrl-C."""

import sys
import time
from pathlib import Path

from tests.network.demo import make_inputs, say
from tests.network.network import Network
from tests.network.settings import ROOT

SIZE = 2048
MESSAGE = """\
The network runs. Ctrl-C stops everything and removes its folder.

  site            {site}
  administration  {administration}
  researcher      {researcher}
                  (type the address, then the code, which works once)
  lab node        {lab}
  its data        {data}: A.npy, B.npy ({size} x {size} float32)
  logs            {logs}

A product, in another terminal: {bin}/python

  import gpugoblin
  lab = gpugoblin.connect("{lab}")
  product = lab.open("A.npy") @ lab.open("B.npy")
  print(product.explain())
  job = product.submit(name="first", out="C.npy")
  print(job.result())
  print(job.report())

One more volunteer (log in as the researcher, and confirm its code):

  {bin}/goblin-client join --site {site}
  {bin}/goblin-client run --allow-private"""


def up(volunteers: int = 2) -> int:
    """Start a network, tell how to reach it, watch it until interrupted."""
    say("Starting a network on this machine: site, lab node, two volunteers ...")
    with Network(volunteers=volunteers) as network:
        make_inputs(network.places.data, SIZE)
        say(message(network))
        while True:
            network.check()
            time.sleep(1)


def message(network: Network) -> str:
    """Where everything is, and what to type."""
    places, people = network.places, network.known_people()
    return MESSAGE.format(
        site=places.site_url,
        administration=login_code(network, people.reviewer),
        researcher=login_code(network, people.researcher),
        lab=places.lab,
        data=places.data,
        logs=places.logs,
        size=SIZE,
        bin=short_path(Path(sys.executable).parent),
    )


def short_path(path: Path) -> Path:
    """Below the checkout as it is typed there."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def login_code(network: Network, email: str) -> str:
    """What this person types on the log-in page."""
    code = network.site.manage("login_code", email).splitlines()[0]
    return f"{email}, code {code}"
