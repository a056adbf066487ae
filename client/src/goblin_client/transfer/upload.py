"""Sending the outputs of a unit, going on where an earlier attempt stopped."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from pathlib import Path

from goblin_client.errors import CLIENT_FAILED, HandBack, Unwanted
from goblin_client.store import KeptResult
from goblin_client.transfer.link import LabLinks, authorization
from goblin_wire.data import UploadStatus
from goblin_wire.exchange import Lease
from goblin_wire.http import HttpClient
from goblin_wire.problems import BadReply, OffsetMismatch
from goblin_wire.protocol import DIGEST_HEADER, MIB

FIRST_PART = 16 * MIB
SMALLEST_PART, LARGEST_PART = 1 * MIB, 64 * MIB
MOVES = 3
"""So often in one upload the lab node may say that it stands elsewhere."""
PART_S = 5.0
"""A part takes about this long, so that progress is seen and little is sent twice."""


def result_file(folder: Path, lease: str, index: int) -> Path:
    """Where the output of that index lies until it is settled."""
    return folder / f"{lease}.{index}"


class Uploader:
    """Sends results to one lab, in one thread."""

    def __init__(
        self,
        folder: Path,
        links: LabLinks,
        is_held: Callable[[str], bool],
        moved: Callable[[str, int], None],
    ) -> None:
        self._folder = folder
        self._links = links
        self._is_held = is_held
        self._moved = moved
        self._tried: set[str] = set()

    def upload(self, result: KeptResult, *, afresh: bool, resumed: bool) -> None:
        """Send all outputs. `afresh`: from the first byte; `resumed`: the lab may have some.

        Raises a `Problem`, `HandBack` (the file is gone) or `Unwanted`.
        """
        lease = result.lease
        resumed = resumed or lease.lease in self._tried
        self._tried.add(lease.lease)
        before = 0
        for index, (digest, size) in enumerate(zip(result.digests, result.sizes, strict=True)):
            sender = _Output(self._links.client(lease.lab), lease, index, digest, size)
            offset = sender.received() if resumed and not afresh else 0
            self._send(sender, self._content(lease, index, size), offset, before)
            before += size
        self._tried.discard(lease.lease)

    def _content(self, lease: Lease, index: int, size: int) -> memoryview:
        try:
            with result_file(self._folder, lease.lease, index).open("rb") as file:
                if size == 0:
                    return memoryview(b"")
                return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            raise HandBack(
                CLIENT_FAILED, "The file of the result is gone from this disk."
            ) from None

    def _send(self, sender: _Output, content: memoryview, offset: int, before: int) -> None:
        part, complete, moves = FIRST_PART, False, 0
        while not complete:
            if not self._is_held(sender.lease.lease):
                raise Unwanted
            began = time.monotonic()
            sent = content[offset : offset + part]
            try:
                status = sender.put(sent, offset)
            except OffsetMismatch as problem:
                moves += 1
                if moves > MOVES:
                    raise
                offset = sender.stands_at(problem)
                continue
            if status.received <= offset and not status.complete:
                raise BadReply("The lab node took nothing of the upload.")
            took = max(1e-3, time.monotonic() - began)
            part = int(min(LARGEST_PART, max(SMALLEST_PART, len(sent) / took * PART_S)))
            offset, complete = min(status.received, len(content)), status.complete
            self._moved(sender.lease.lease, before + offset)


class _Output:
    """One output at the lab node."""

    def __init__(
        self, client: HttpClient, lease: Lease, index: int, digest: str, size: int
    ) -> None:
        self.lease = lease
        self._client = client
        self._path = f"/v1/leases/{lease.lease}/outputs/{index}"
        self._headers = {**authorization(lease), DIGEST_HEADER: digest}
        self._size = size

    def received(self) -> int:
        """How many bytes the lab node has."""
        status = self._client.call("GET", self._path, None, UploadStatus, headers=self._headers)
        return min(status.received, self._size)

    def stands_at(self, problem: OffsetMismatch) -> int:
        """How many bytes the lab node has, after it has refused our offset."""
        stands = problem.facts.get("received")
        if isinstance(stands, int) and 0 <= stands <= self._size:
            return stands
        return self.received()

    def put(self, content: memoryview, offset: int) -> UploadStatus:
        return self._client.put(
            f"{self._path}?offset={offset}", content, UploadStatus, headers=self._headers
        )
