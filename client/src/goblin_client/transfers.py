"""Downloads and uploads in the background: one thread per lab and direction."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from goblin_client.errors import HandBack, Unwanted
from goblin_client.lanes import Lane
from goblin_client.scheduling import events
from goblin_client.scheduling.events import Event, Failure, Trouble
from goblin_client.store import KeptResult
from goblin_client.transfer.cache import BlobCache
from goblin_client.transfer.fetch import Fetcher, Prepared
from goblin_client.transfer.link import LabLinks, failure
from goblin_client.transfer.upload import Uploader
from goblin_wire.exchange import Lease
from goblin_wire.problems import Problem

log = logging.getLogger("goblin_client")
UNWANTED = Failure(Trouble.ENDED, "lease_ended", "The lease was dropped.")


class Downloads:
    """Fetches for all labs. `prepared` holds what the units in hand read."""

    def __init__(
        self,
        cache: BlobCache,
        make_links: Callable[[], LabLinks],
        is_held: Callable[[str], bool],
        post: Callable[[Event], None],
    ) -> None:
        self._cache = cache
        self._make_links = make_links
        self._is_held = is_held
        self._post = post
        self._lanes: dict[str, tuple[Lane, LabLinks, Fetcher]] = {}
        self.prepared: dict[str, Prepared] = {}

    def start(self, lease: Lease, memory: int) -> None:
        lab = lease.lab.lab
        if lab not in self._lanes:
            links = self._make_links()
            fetcher = Fetcher(self._cache, links, self._is_held)
            self._lanes[lab] = Lane(f"down-{lab[:8]}"), links, fetcher
        lane, links, fetcher = self._lanes[lab]
        lane.submit(lambda: self._fetch(lease, memory, links, fetcher))

    def _fetch(self, lease: Lease, memory: int, links: LabLinks, fetcher: Fetcher) -> None:
        failed: Failure | None = None
        try:
            if lease.lease not in self.prepared:
                self.prepared[lease.lease] = fetcher.prepare(lease, memory)
            fetcher.inputs(lease, self.prepared[lease.lease], self._post)
        except Unwanted:
            failed = UNWANTED
            links.close()
        except Exception as error:
            failed = _failure(error, links)
        if not self._is_held(lease.lease):
            self.forget(lease.lease)
        self._post(events.FetchEnded(lease.lease, failed))

    def forget(self, lease: str) -> None:
        """The unit's inputs are needed no longer."""
        self.prepared.pop(lease, None)
        self._cache.release(lease)


class Uploads:
    """Uploads to all labs."""

    def __init__(
        self,
        folder: Path,
        make_links: Callable[[], LabLinks],
        is_held: Callable[[str], bool],
        post: Callable[[Event], None],
    ) -> None:
        self._folder = folder
        self._make_links = make_links
        self._is_held = is_held
        self._post = post
        self._lanes: dict[str, tuple[Lane, LabLinks, Uploader]] = {}

    def start(self, result: KeptResult, *, afresh: bool, resumed: bool) -> None:
        """`resumed`: an earlier process may have sent a part already."""
        lab = result.lease.lab.lab
        if lab not in self._lanes:
            links = self._make_links()
            uploader = Uploader(self._folder, links, self._is_held, self._moved)
            self._lanes[lab] = Lane(f"up-{lab[:8]}"), links, uploader
        lane, links, uploader = self._lanes[lab]
        lane.submit(lambda: self._upload(result, links, uploader, afresh, resumed))

    def _moved(self, lease: str, count: int) -> None:
        self._post(events.UploadMoved(lease, count))

    def _upload(
        self, result: KeptResult, links: LabLinks, uploader: Uploader, afresh: bool, resumed: bool
    ) -> None:
        failed: Failure | None = None
        try:
            uploader.upload(result, afresh=afresh, resumed=resumed)
        except Unwanted:
            failed = UNWANTED
        except Exception as error:
            failed = _failure(error, links)
        self._post(events.UploadEnded(result.lease.lease, failed))


def _failure(error: Exception, links: LabLinks) -> Failure:
    """Note the failure; what is not of the protocol also goes to the log with its place."""
    links.close()
    if isinstance(error, Problem | HandBack | OSError):
        log.warning("transfer: %s", error)
    else:
        log.exception("transfer failed")
    return failure(error)
