"""Wrong answers that a check of products must not let through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.verification.data import Array, Generator, product
from opgraph.verification import ColumnBlockCheck
from opgraph.verification.precision import relative_scale
from opgraph.verification.regions import REGULAR


@dataclass(frozen=True)
class Task:
    """What a cheat may look at: operands, the right answer, and the size that it may hide.

    `hidden`: per entry, the largest wrong single entry that the check can miss. A real cheat does
    not know it; sizes are swept in multiples of it."""

    a: Array
    b: Array
    slice_cuts: list[int]
    right: Array
    hidden: Array
    rng: Generator


def hidden_sizes(check: ColumnBlockCheck, scale: Array) -> Array:
    """2 c base_i / w_j where the vectors cover an entry, elsewhere its own threshold.

    `scale`: sqrt(C^2 + (A*A)(B*B)) per entry, without overflow."""
    state = check.state
    relative = relative_scale(state.slice_cuts, state.terms, state.precision)
    own = state.factor * relative * scale + state.terms * state.precision.least
    with np.errstate(all="ignore"):
        covered = 2 * state.factor * state.scale[:, None] / state.weights
    regular = (state.regions.rows == REGULAR)[:, None] & (state.regions.columns == REGULAR)
    limit = np.where(regular, covered, np.where(np.isfinite(own), own, 0))
    return np.asarray(np.minimum(limit, state.precision.largest), dtype=np.float64)


def zeros(task: Task) -> Array:
    return np.zeros_like(task.right)


def noise(task: Task) -> Array:
    """Random numbers of the right size and sign statistics."""
    return task.rng.permuted(task.right, axis=1)


def scaled(task: Task) -> Array:
    return np.asarray(task.right * task.right.dtype.type(1.01))


def one_entry(task: Task) -> Array:
    """One entry off by three times what the check can miss."""
    return _moved(task, 3.0, 1)


def one_entry_large(task: Task) -> Array:
    return _moved(task, 1e4, 1)


def pair_in_a_row(task: Task) -> Array:
    """+d and -d in one row; a vector misses it with probability 1/2."""
    return _moved(task, 1e3, 2)


def one_column(task: Task) -> Array:
    """One column of many is zero."""
    wrong = task.right.copy()
    wrong[:, _largest_column(task)] = 0
    return wrong


def part_of_k(task: Task) -> Array:
    """The last sixteenth of K left out."""
    terms = task.a.shape[1]
    kept = terms - max(1, terms // 16)
    cuts = [cut for cut in task.slice_cuts if cut < kept]
    return product(task.a[:, :kept], task.b[:kept], [*cuts, kept])


def tf32(task: Task) -> Array:
    """Inputs with 10 bits after the point, as TF32 tensor cores take them."""
    return _rounded_product(task, 10)


def bfloat16(task: Task) -> Array:
    """Inputs with 7 bits after the point."""
    return _rounded_product(task, 7)


def stale(task: Task) -> Array:
    """The answer of another unit: the same rows in another order."""
    return np.roll(task.right, 1, axis=0)


def input_returned(task: Task) -> Array:
    """An operand instead of the product."""
    return np.resize(task.a, task.right.shape)


def not_a_number(task: Task) -> Array:
    wrong = task.right.copy()
    wrong[task.rng.integers(len(wrong)), task.rng.integers(wrong.shape[1])] = np.nan
    return wrong


def infinite(task: Task) -> Array:
    wrong = task.right.copy()
    wrong[task.rng.integers(len(wrong)), task.rng.integers(wrong.shape[1])] = np.inf
    return wrong


def nothing_but_nan(task: Task) -> Array:
    return np.full_like(task.right, np.nan)


def beside_an_infinity(task: Task) -> Array:
    """A wrong number in the row that has most infinities."""
    row = int(np.count_nonzero(~np.isfinite(task.right), axis=1).argmax())
    columns = np.flatnonzero(np.isfinite(task.right[row]))
    wrong = task.right.copy()
    if columns.size:
        column = task.rng.choice(columns)
        wrong[row, column] += 3.0 * task.hidden[row, column]
    return wrong


def zeros_in_every_other_row(task: Task) -> Array:
    """As if a machine flushed to zero now and then."""
    wrong = task.right.copy()
    wrong[::2] = 0
    return wrong


def cut_short(task: Task) -> Array:
    """The second half of the bytes never came."""
    wrong = task.right.copy()
    wrong[len(wrong) // 2 :] = 0
    return wrong


def wrong_shape(task: Task) -> Array:
    return task.right[:-1]


def wrong_dtype(task: Task) -> Array:
    return task.right.astype("float64" if task.right.dtype == "float32" else "float32")


Cheat = Callable[[Task], Array]

CHEATS: dict[str, Cheat] = {
    "zeros": zeros,
    "noise": noise,
    "scaled": scaled,
    "one-entry": one_entry,
    "one-entry-large": one_entry_large,
    "one-column": one_column,
    "part-of-k": part_of_k,
    "tf32-inputs": tf32,
    "bfloat16-inputs": bfloat16,
    "stale": stale,
    "input-returned": input_returned,
    "not-a-number": not_a_number,
    "infinite": infinite,
    "nothing-but-nan": nothing_but_nan,
    "beside-an-infinity": beside_an_infinity,
    "zeros-in-every-other-row": zeros_in_every_other_row,
    "cut-short": cut_short,
    "wrong-shape": wrong_shape,
    "wrong-dtype": wrong_dtype,
}
"""Those that must never get through. `pair_in_a_row` may, with probability 2^-vectors."""


def _moved(task: Task, times: float, count: int) -> Array:
    """`count` entries of one row moved, with alternating signs that cancel in weighted size."""
    row = task.rng.integers(task.right.shape[0])
    columns = task.rng.choice(task.right.shape[1], count, replace=False)
    wrong = task.right.copy()
    for sign, column in zip((1, -1), columns, strict=False):
        wrong[row, column] += sign * times * task.hidden[row, column]
    return wrong


def _largest_column(task: Task) -> int:
    finite = np.where(np.isfinite(task.right), np.abs(task.right), 0).astype(np.float64)
    return int(finite.max(axis=0).argmax())


def _rounded_product(task: Task, bits: int) -> Array:
    return product(_rounded(task.a, bits), _rounded(task.b, bits), task.slice_cuts)


def _rounded(values: Array, bits: int) -> Array:
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, bits + 1)), exponent - bits - 1))
