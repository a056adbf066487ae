"""The catalogue's words in the reader's language: families of operators, kinds of computation."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

FAMILIES: dict[str, str | Promise] = {
    "arithmetic": pgettext_lazy("family of operators", "Arithmetic"),
    "comparison": pgettext_lazy("family of operators", "Comparison and logic"),
    "rounding": pgettext_lazy("family of operators", "Rounding"),
    "transcendental": pgettext_lazy("family of operators", "Roots, exponentials, angles"),
    "reductions": pgettext_lazy("family of operators", "Reductions"),
    "scans": pgettext_lazy("family of operators", "Running sums and the like"),
    "sorting": pgettext_lazy("family of operators", "Sorting and searching"),
    "integers": pgettext_lazy("family of operators", "Integers and bits"),
    "linear_algebra": pgettext_lazy("family of operators", "Linear algebra"),
    "shaping": pgettext_lazy("family of operators", "Shapes and making"),
    "indexing": pgettext_lazy("family of operators", "Indexing"),
    "casts": pgettext_lazy("family of operators", "Casts"),
    "random": pgettext_lazy("family of operators", "Random numbers"),
    "neural": pgettext_lazy("family of operators", "Neural networks"),
    "neural_gradients": pgettext_lazy("family of operators", "Gradients of neural networks"),
    "control": pgettext_lazy("family of operators", "Formulas and repetition"),
}


class Kind(NamedTuple):
    """A kind of computation; `code` is its value in a request for access."""

    code: str
    title: str | Promise
    text: str | Promise
    is_available: bool = False


KINDS = (
    Kind(
        "products",
        _("Products of large matrices"),
        _(
            "A @ B in float32 or float64, also where neither fits into one machine. Your lab node"
            " cuts the product into tiles, volunteers compute them, and every tile is verified."
        ),
        is_available=True,
    ),
    Kind(
        "graphs",
        _("Graphs of operators"),
        _(
            "A graph of your own, made of the operators below. The operators are there and tested;"
            " the network does not take graphs of them yet."
        ),
    ),
    Kind(
        "training",
        _("Training of models"),
        _(
            "Such graphs together with their gradients, over many steps. The network does not train"
            " anything yet."
        ),
    ),
)


def family_name(family: str) -> str:
    """How a family is called in the language of the page; one without a word is called as it is."""
    return str(FAMILIES.get(family, family.replace("_", " ").capitalize()))
