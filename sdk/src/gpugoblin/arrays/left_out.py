"""What of the Array API 2024.12 is left out, and why: the functions are there and say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, NoReturn

from gpugoblin.errors import UnsupportedComputation

_LENGTH = "its results have a length that only the numbers know, so they can't be part of a graph"
_NOT_UNIQUE = (
    "its result is not unique: honest machines give different ones, so none can be verified"
)
_SINGULAR = "it needs eigenvalues or singular values, for which the catalogue has no operator yet"
_PIVOTS = "it needs the factors of an elimination, for which the catalogue has no operator yet"
_COMPLEX = "there are no complex numbers in the catalogue"

REASONS: Mapping[str, tuple[str, str]] = {
    "nonzero": (_LENGTH, "count_nonzero(x), or where(x != 0, ..., ...)"),
    "unique_all": (_LENGTH, "sort(x), or numpy.unique(x.compute())"),
    "unique_counts": (_LENGTH, "gpugoblin.operators.bincount, or numpy.unique(x.compute())"),
    "unique_inverse": (_LENGTH, "argsort(x), or numpy.unique(x.compute())"),
    "unique_values": (_LENGTH, "sort(x), or numpy.unique(x.compute())"),
    "linalg.det": (_PIVOTS, "the diagonal of linalg.cholesky, for positive definite matrices"),
    "linalg.eigh": (_NOT_UNIQUE, "powers and products, or numpy for x.compute()"),
    "linalg.eigvalsh": (_SINGULAR, "powers and products, or numpy for x.compute()"),
    "linalg.matrix_rank": (_SINGULAR, "numpy for x.compute()"),
    "linalg.pinv": (_SINGULAR, "linalg.solve of the normal equations"),
    "linalg.qr": (_NOT_UNIQUE, "linalg.cholesky of x.mT @ x"),
    "linalg.slogdet": (_PIVOTS, "the diagonal of linalg.cholesky, for positive definite matrices"),
    "linalg.svd": (_NOT_UNIQUE, "numpy for x.compute()"),
    "linalg.svdvals": (_SINGULAR, "numpy for x.compute()"),
}
"""For each function why it is left out, and what does in its place."""

ABSENT: Mapping[str, str] = {
    "complex64": _COMPLEX,
    "complex128": _COMPLEX,
    "fft": f"{_COMPLEX}; a transform is a product with a matrix of cosines and sines",
}
"""Names that are not there at all: the standard has libraries leave them out."""


def refused(name: str) -> UnsupportedComputation:
    """The error for a function that is left out, with the way out."""
    reason, instead = REASONS[name]
    return UnsupportedComputation(f"{name}() is left out: {reason}. In its place: {instead}.")


def _left_out(name: str, **keywords: Any) -> Callable[..., NoReturn]:
    """A function with the standard's arguments, which takes whatever it is given and refuses."""

    def function(*_: Any, **__: Any) -> NoReturn:
        raise refused(name)

    named = [Parameter(key, Parameter.KEYWORD_ONLY, default=keywords[key]) for key in keywords]
    only = Parameter("x", Parameter.POSITIONAL_ONLY)
    function.__dict__["__signature__"] = Signature([only, *named])
    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises `UnsupportedComputation`: {REASONS[name][0]}."
    return function


nonzero = _left_out("nonzero")
unique_all = _left_out("unique_all")
unique_counts = _left_out("unique_counts")
unique_inverse = _left_out("unique_inverse")
unique_values = _left_out("unique_values")

det = _left_out("linalg.det")
eigh = _left_out("linalg.eigh")
eigvalsh = _left_out("linalg.eigvalsh")
matrix_rank = _left_out("linalg.matrix_rank", rtol=None)
pinv = _left_out("linalg.pinv", rtol=None)
qr = _left_out("linalg.qr", mode="reduced")
slogdet = _left_out("linalg.slogdet")
svd = _left_out("linalg.svd", full_matrices=True)
svdvals = _left_out("linalg.svdvals")

__all__ = ["nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
