"""One item of a batch that cannot be acted upon must not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import OperationalError

from gpugoblin_site import logs

T = TypeVar("T")
_log = logs.logger("batches")


def act_on_all(
    items: Sequence[T], act: Callable[[Sequence[T]], int], put_aside: Callable[[T], object]
) -> int:
    """What `act` makes of the items, all together; returns the number that it gave.

    Where it fails, the batch is halved until the items that are to blame are found: each is put
    aside, the others are done in their order. `act` must be all or nothing. A database that does
    not answer is no item's fault: `OperationalError` passes through.
    """
    try:
        return act(items)
    except OperationalError:
        raise
    except Exception as error:
        if len(items) == 1:
            _log.error("put aside", item=str(items[0]), exc_info=error)
            put_aside(items[0])
            return 0
    half = len(items) // 2
    return act_on_all(items[:half], act, put_aside) + act_on_all(items[half:], act, put_aside)
