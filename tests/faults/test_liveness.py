"""Every unit comes to an end, or it is said why it does not, whatever went wrong before."""

import pytest

from tests.faults.liveness import World

SEEDS = 1000
SHARES = 10


@pytest.mark.parametrize("share", range(SHARES))
def test_row_11_every_unit_is_accepted_or_put_aside_with_a_reason(share: int) -> None:
    for seed in range(share, SEEDS, SHARES):
        left = World(seed).play()
        assert not left, f"seed {seed}: {left}"
