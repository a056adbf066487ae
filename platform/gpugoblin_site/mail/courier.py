"""Mail that somebody waits for leaves at once: a thread of the process that wrote it tries, so no
page waits for a mail server. What it does not manage, the scheduler does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import BoundedSemaphore

from django.conf import settings
from django.db import connection

from gpugoblin_site import logs

THREADS = 2
IN_HAND = 6
"""More than this are left to the scheduler: a process that ends waits for what it has in hand."""

_room = BoundedSemaphore(IN_HAND)
_log = logs.logger("mail")


def hurry(mail_id: int) -> None:
    """Try to deliver this mail now, in the background."""
    if settings.GOBLIN_MAIL_AT_ONCE and _room.acquire(blocking=False):
        _threads().submit(_deliver, mail_id)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    # Made at the first mail and so after gunicorn forked; joined when the process ends.
    return ThreadPoolExecutor(THREADS, thread_name_prefix="mail")


def _deliver(mail_id: int) -> None:
    from gpugoblin_site.mail import delivery

    try:
        delivery.deliver_one(mail_id)
    except Exception as error:
        _log.warning("not delivered at once", mail=mail_id, exc_info=error)
    finally:
        connection.close()
        _room.release()
