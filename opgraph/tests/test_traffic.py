from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opgraph.partition.product import ProductPlan
from opgraph.partition.traffic import stretches


def grid(rows: int, columns: int) -> ProductPlan:
    """Blocks of 10 rows and 10 columns at K = 5: a block is 200 bytes."""
    row_cuts = tuple(range(0, 10 * rows + 1, 10))
    column_cuts = tuple(range(0, 10 * columns + 1, 10))
    return ProductPlan(10 * rows, 5, 10 * columns, "float32", row_cuts, column_cuts, (0, 3, 5))


def test_a_row_of_tiles_fetches_its_row_once() -> None:
    assert grid(1, 6).down_bytes(1) == 7 * 200
    assert grid(1, 6).down_bytes(2) == 8 * 200
    assert grid(1, 6).down_bytes(6) == grid(1, 6).down_bytes(cached=False) == 12 * 200


def test_a_cache_of_two_blocks_keeps_what_the_neighbour_shares() -> None:
    # 16 steps of a Hilbert walk on 4 x 4 tiles: 15 times one of the two blocks changes.
    assert grid(4, 4).down_bytes(1, cache_bytes=400) == 17 * 200


def test_the_block_that_was_used_last_stays() -> None:
    # The row is used by every tile, so it must not be what goes.
    assert grid(1, 9).down_bytes(1, cache_bytes=400) == 10 * 200
    assert grid(9, 1).down_bytes(1, cache_bytes=400) == 10 * 200


def test_a_cache_below_two_blocks_finds_only_the_last_fetched() -> None:
    assert grid(4, 4).down_bytes(1, cache_bytes=0) == 32 * 200
    assert 17 * 200 < grid(4, 4).down_bytes(1, cache_bytes=399) <= 32 * 200


def test_half_of_a_square_is_two_of_its_rows() -> None:
    plan = grid(4, 4)
    assert plan.down_bytes(2) == 2 * (2 + 4) * 200
    shown = plan.exposure(2)
    assert {shown.a, shown.b} == {0.5, 1.0}


def test_more_devices_than_tiles_are_idle() -> None:
    assert grid(2, 2).down_bytes(100) == 8 * 200
    assert grid(2, 2).exposure(100).a == 0.5


@given(st.integers(0, 60), st.integers(1, 20))
def test_stretches_are_all_tiles_in_order(count: int, devices: int) -> None:
    tiles = grid(1, count).tiles if count else ()
    parts = list(stretches(tiles, devices))
    assert [tile for part in parts for tile in part] == list(tiles)
    assert len(parts) == min(devices, count)
    if parts:
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
