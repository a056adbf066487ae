"""The whole road of a client, as a process of its own, against a site and a lab node."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from client.tests.running import Client, until
from client.tests.servers import Lab, Site


def test_units_are_computed_uploaded_and_settled(
    site: Site, lab: Lab, run: Callable[..., Client]
) -> None:
    units = [lab.product(seed=seed) for seed in range(4)]
    site.offer(lab, *units)
    client = run()
    until(lambda: len(site.reported) == 4)
    for lease, unit in lab.leases.items():
        assert numpy.allclose(lab.result(lease), unit.expected, rtol=1e-4, atol=1e-4)
        assert site.reported[lease].outputs == [lab.staging[lease, 0].digest]
    assert client.stop() == 0
