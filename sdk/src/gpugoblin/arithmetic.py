"""Python's operators that a lazy array does not have yet, each with a sentence."""

from __future__ import annotations

from typing import Any, NoReturn

from gpugoblin.errors import NotComputed


class ProductsOnly:
    """For arrays that know `@` alone: anything else says what to do instead."""

    __slots__ = ()

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotComputed(
            "Only products, A @ B, are computed by volunteers so far. For anything else compute the"
            " array first: .compute() gives a numpy array."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
