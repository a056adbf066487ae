"""Which check a product gets: secret signs for floats, exact ones for integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from opgraph.tensors import INTEGERS
from opgraph.verification.blind_spot import blind_spot, planned_blind_spot
from opgraph.verification.exact import SECURITY_BITS, ExactCheck
from opgraph.verification.product import VECTORS, ColumnBlockCheck

BlockCheck = ColumnBlockCheck | ExactCheck


def check_for(dtype: str) -> type[ColumnBlockCheck] | type[ExactCheck]:
    """The kind of check for products of this dtype, a name of the catalogue."""
    return ExactCheck if dtype in INTEGERS else ColumnBlockCheck


def state_bytes(dtype: str, rows: int) -> int:
    """At most so much memory the check of one column block takes."""
    if dtype in INTEGERS:
        return rows * SECURITY_BITS * 8
    return rows * (VECTORS + 1) * 8


def found_sentence(checks: Iterable[BlockCheck]) -> str:
    """For reports and receipts: what the prepared checks of one product can't see."""
    floats = [each for each in checks if isinstance(each, ColumnBlockCheck)]
    if floats:
        return max(map(blind_spot, floats), key=lambda each: each.relative).sentence
    return EXACT_SENTENCE


def planned_sentence(slice_cuts: Sequence[int], columns: int, dtype: str) -> str:
    """For plans: how every tile is checked, and what is not seen on data of independent signs."""
    how = (
        "Every tile is checked by the lab node before it is used, against secret random vectors"
        " that are drawn before any result is looked at; "
    )
    if dtype in INTEGERS:
        return f"{how}exactly, modulo 2^{8 * np.dtype(dtype).itemsize}. {EXACT_SENTENCE}"
    blind = planned_blind_spot(slice_cuts, columns, dtype)
    return f"{how}rows that differ are computed again in float64. {blind.sentence}"


EXACT_SENTENCE = (
    "Integers have no tolerance: a row that is wrong by anything, in any entry, escapes with"
    f" probability 2^-{SECURITY_BITS} at most, whatever the error and however many act together."
)
"""The blind spot of the exact check."""
