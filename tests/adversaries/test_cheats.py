"""No wrong tile reaches the product; whoever sent it reads why it was refused."""

import numpy as np
import pytest

from goblin_wire.blobs import blob_id
from goblin_wire.data import UploadStatus
from goblin_wire.exchange import Lease, Returned
from goblin_wire.problems import (
    CapabilityForeign,
    DigestMismatch,
    LeaseEnded,
    TooLarge,
    WrongLength,
)
from goblin_wire.protocol import DIGEST_HEADER
from tests.adversaries.bench import Bench, Matrix, eventually
from tests.adversaries.cheats import CHEATS, zeros
from tests.adversaries.volunteer import ScriptedVolunteer

pytestmark = pytest.mark.network


def settled(volunteer: ScriptedVolunteer, lease: Lease) -> tuple[str, str]:
    """Verdict and reason of a lease, once the site tells them.

    A verdict that overtakes the report ends the lease instead of settling it.
    """

    def ask() -> object:
        volunteer.exchange()
        return volunteer.settled.get(lease.lease) or volunteer.ended.get(lease.lease)

    fate = eventually(ask, "the lease is not settled")
    return getattr(fate, "verdict", "rejected"), fate.reason


def content(tile: Matrix) -> Matrix:
    return np.ascontiguousarray(tile)


@pytest.mark.parametrize("cheat", CHEATS)
def test_wrong_tile_never_reaches_the_product(bench: Bench, cheat: str) -> None:
    work = bench.submit()
    cheater = bench.volunteer()
    (lease,) = bench.lease(cheater)
    inputs = cheater.inputs(lease, cheater.manifest(lease))
    cheater.deliver(lease, CHEATS[cheat](inputs, cheater.compute(lease)))
    verdict, reason = settled(cheater, lease)
    assert verdict == "rejected"
    assert len(reason) > 20, "the volunteer is told why"
    work.assert_right(bench.finish(work))
    refusals = cheater.status().refusals
    assert [(each.lease, each.reason) for each in refusals] == [(lease.lease, reason)]


def test_bytes_of_another_tile(bench: Bench) -> None:
    work = bench.submit()
    cheater = bench.volunteer()
    first, second = *bench.lease(cheater, 1), *bench.lease(cheater, 1)
    wrong = cheater.compute(second)
    cheater.deliver(first, wrong)
    verdict, _ = settled(cheater, first)
    assert verdict == "rejected"
    cheater.exchange(returned=[Returned(lease=second.lease, code="failed")])
    work.assert_right(bench.finish(work))


def test_two_accounts_with_the_same_fault(bench: Bench) -> None:
    """That two agree is no evidence: the same wrong tile is refused both times."""
    work = bench.submit()
    first, second = bench.volunteer(), bench.volunteer()
    (lease,) = bench.lease(first)
    wrong = zeros({}, first.compute(lease))
    first.deliver(lease, wrong)
    assert settled(first, lease)[0] == "rejected"
    leases = bench.lease(second, 8)
    again = next(each for each in leases if each.unit == lease.unit)
    second.deliver(again, wrong)
    assert settled(second, again)[0] == "rejected"
    shutting_down = [
        Returned(lease=each.lease, code="shutting_down") for each in leases if each is not again
    ]
    second.exchange(returned=shutting_down)
    work.assert_right(bench.finish(work))


def test_upload_cut_short_waits_for_the_rest(bench: Bench) -> None:
    work = bench.submit()
    volunteer = bench.volunteer()
    (lease,) = bench.lease(volunteer)
    tile = content(volunteer.compute(lease))
    raw = memoryview(tile).cast("B")
    digest = blob_id(bytes.fromhex(volunteer.manifest(lease).key), raw)
    half = len(raw) // 2
    status = volunteer.upload(lease, raw[:half], digest=digest)
    assert (status.received, status.complete) == (half, False)
    assert volunteer.report(lease, tile).settled == [], "nothing is judged before it is complete"
    status = volunteer.upload(lease, raw, offset=half, digest=digest)
    assert status.complete
    assert settled(volunteer, lease)[0] == "accepted"
    work.assert_right(bench.finish(work))


def test_upload_cut_short_and_never_continued(bench: Bench) -> None:
    work = bench.submit()
    volunteer = bench.volunteer()
    (lease,) = bench.lease(volunteer)
    tile = content(volunteer.compute(lease))
    raw = memoryview(tile).cast("B")
    digest = blob_id(bytes.fromhex(volunteer.manifest(lease).key), raw)
    volunteer.upload(lease, raw[: len(raw) // 2], digest=digest)
    volunteer.exchange(returned=[Returned(lease=lease.lease, code="shutting_down")])
    work.assert_right(bench.finish(work))


def test_digest_that_does_not_match(bench: Bench) -> None:
    work = bench.submit()
    volunteer = bench.volunteer()
    (lease,) = bench.lease(volunteer)
    tile = content(volunteer.compute(lease))
    with pytest.raises(DigestMismatch):
        volunteer.upload(lease, tile, digest="0" * 64)
    volunteer.deliver(lease, tile)
    assert settled(volunteer, lease)[0] == "accepted"
    work.assert_right(bench.finish(work))


def test_more_bytes_than_the_output_has(bench: Bench) -> None:
    work = bench.submit()
    volunteer = bench.volunteer()
    (lease,) = bench.lease(volunteer)
    with pytest.raises((WrongLength, TooLarge)):
        volunteer.upload(lease, bytes(lease.output_bytes + 1))
    volunteer.exchange(returned=[Returned(lease=lease.lease, code="failed")])
    work.assert_right(bench.finish(work))


def test_capability_of_another_lease(bench: Bench) -> None:
    work = bench.submit()
    volunteer, other = bench.volunteer(), bench.volunteer()
    (mine,) = bench.lease(volunteer)
    (foreign,) = bench.lease(other)
    path = f"/v1/leases/{foreign.lease}/outputs/0?offset=0"
    raw = bytes(foreign.output_bytes)
    with pytest.raises(CapabilityForeign):
        volunteer.lab(mine).put(path, raw, UploadStatus, headers={DIGEST_HEADER: "0" * 64})
    for each, lease in ((volunteer, mine), (other, foreign)):
        each.deliver(lease, each.compute(lease))
        assert settled(each, lease)[0] == "accepted"
    work.assert_right(bench.finish(work))


def test_late_upload_never_overwrites_another_lease(bench: Bench) -> None:
    work = bench.submit()
    late, prompt = bench.volunteer(), bench.volunteer()
    (lease,) = bench.lease(late)
    tile = content(late.compute(lease))
    late.exchange(returned=[Returned(lease=lease.lease, code="shutting_down")])
    leases = bench.lease(prompt, 8)
    for each in leases:
        prompt.deliver(each, prompt.compute(each))
    assert lease.unit in {each.unit for each in leases}
    with pytest.raises(LeaseEnded):
        late.upload(lease, np.zeros_like(tile), digest="0" * 64)
    work.assert_right(bench.finish(work))
