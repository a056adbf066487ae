"""Integers over the network: bit for bit numpy's product, whatever some of the volunteers send."""

import numpy as np
import pytest

from tests.adversaries.bench import Bench, Work
from tests.adversaries.cheats import INTEGER_CHEATS
from tests.adversaries.test_cheats import settled

pytestmark = pytest.mark.network


def test_every_cheat_is_rejected_and_the_product_is_numpys(bench: Bench) -> None:
    numbers = np.random.default_rng(64)
    a = numbers.integers(-(2**31), 2**31, (400, 500)).astype(np.int32)
    b = numbers.integers(-(2**31), 2**31, (500, 360)).astype(np.int32)
    product = bench.lab.array(a) @ bench.lab.array(b)
    assert "2^-40" in str(product.explain())
    job = product.submit(name="integers", memory=2 << 20)
    assert job.report().facts.units > len(INTEGER_CHEATS)
    # A unit each, taken before any is refused: one that several spoil would be put aside.
    cheaters = {name: bench.volunteer() for name in INTEGER_CHEATS}
    leases = {name: bench.lease(cheater)[0] for name, cheater in cheaters.items()}
    assert len({lease.unit for lease in leases.values()}) == len(INTEGER_CHEATS)
    for name, cheat in INTEGER_CHEATS.items():
        cheater, lease = cheaters[name], leases[name]
        inputs = cheater.inputs(lease, cheater.manifest(lease))
        cheater.deliver(lease, cheat(inputs, cheater.compute(lease)))
        verdict, reason = settled(cheater, lease)
        assert verdict == "rejected", name
        assert "integers are exact" in reason, name
    found = bench.finish(Work(a, b, job))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, a @ b)
    report = job.report().facts
    assert len(report.refusals) == len(INTEGER_CHEATS)
    assert "2^-40" in report.blind_spot
