"""Downloads and uploads over links that break, stall and lie."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from client.tests.running import until
from client.tests.servers import Handler, Lab, Staging, Unit, make_lease
from goblin_client.errors import HandBack
from goblin_client.scheduling.events import Arrived, FetchEnded, Trouble, UploadEnded
from goblin_client.store import KeptResult
from goblin_client.transfer.cache import BlobCache
from goblin_client.transfer.fetch import Fetcher
from goblin_client.transfer.link import LabLinks, failure
from goblin_client.transfer.upload import Uploader, result_file
from goblin_client.transfers import Downloads, Uploads
from goblin_wire.blobs import blob_id
from goblin_wire.exchange import Lease
from goblin_wire.problems import (
    BadReply,
    DigestMismatch,
    EndpointRefused,
    LeaseEnded,
    Problem,
    Unreachable,
)

MEMORY = 10**9


def links(silence: float = 5.0, *, allow_private: bool = True) -> LabLinks:
    return LabLinks(allow_private=allow_private, read_timeout=silence)


@pytest.fixture
def cache(tmp_path: Path) -> BlobCache:
    return BlobCache(tmp_path / "cache", 10**9)


def fetch(cache: BlobCache, lease: Lease, silence: float = 5.0) -> list[Any]:
    told: list[Any] = []
    fetcher = Fetcher(cache, links(silence), lambda _lease: True)
    fetcher.inputs(lease, fetcher.prepare(lease, MEMORY), told.append)
    return told


def uploader(folder: Path, silence: float = 5.0) -> Uploader:
    return Uploader(folder, links(silence), lambda _lease: True, lambda _lease, _bytes: None)


def finished(lab: Lab, unit: Unit, folder: Path) -> KeptResult:
    """A result of random bytes of the right size."""
    lease = make_lease(lab, unit)
    content = bytes(range(256)) * (lease.output_bytes // 256 + 1)
    content = content[: lease.output_bytes]
    result_file(folder, lease.lease, 0).write_bytes(content)
    return KeptResult(
        lease=lease,
        digests=[blob_id(lab.key, content)],
        sizes=[len(content)],
        seconds=1.0,
        made=0.0,
    )


def half(handler: Handler, content: bytes) -> None:
    """The beginning of a reply that never ends."""
    handler.send_response(206)
    start = int(handler.headers["Range"].removeprefix("bytes=").split("-")[0])
    handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    handler.send_header("Content-Length", str(len(content) - start))
    handler.end_headers()
    handler.wfile.write(content[start : start + (len(content) - start) // 2])
    handler.wfile.flush()


# --- downloads -----------------------------------------------------------------------------------
def test_panels_that_are_here_are_not_downloaded_again(lab: Lab, cache: BlobCache) -> None:
    unit = lab.product(seed=1)
    told = fetch(cache, make_lease(lab, unit))
    assert [each.blobs for each in told if isinstance(each, Arrived)] == [1, 2, 3, 4]
    served = lab.served
    fetch(cache, make_lease(lab, unit))
    assert lab.served == served


def test_a_panel_that_a_power_cut_spoilt_is_fetched_again(lab: Lab, tmp_path: Path) -> None:
    unit = lab.product(seed=1)
    fetch(BlobCache(tmp_path, 10**9), make_lease(lab, unit))
    spoilt = unit.message.inputs[1]
    (tmp_path / lab.id / spoilt.blob).write_bytes(bytes(spoilt.bytes))
    served = lab.served
    fetch(BlobCache(tmp_path, 10**9), make_lease(lab, unit))
    assert lab.served == served + spoilt.bytes
    assert (tmp_path / lab.id / spoilt.blob).read_bytes() == lab.blobs[spoilt.blob]


def test_an_input_larger_than_the_cache_is_refused_before_its_download(
    lab: Lab, tmp_path: Path
) -> None:
    unit = lab.product(seed=1)
    largest = max(each.bytes for each in unit.message.inputs)
    with pytest.raises(HandBack) as caught:
        fetch(BlobCache(tmp_path, largest - 1), make_lease(lab, unit))
    assert caught.value.code == "disk_full"
    assert not list(tmp_path.glob(f"{lab.id}/{unit.message.inputs[0].blob}*"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk_full"),
        (OSError(errno.EIO, "Input/output error"), "client_failed"),
        (KeyError("x"), "client_failed"),
    ],
)
def test_a_trouble_of_this_machine_has_a_code_of_its_own(error: Exception, code: str) -> None:
    assert failure(error).code == code


def test_row_27_stalled_socket(lab: Lab, cache: BlobCache) -> None:
    unit = lab.product(256, 256, 256, seed=1)
    stalled = unit.message.inputs[1].blob
    ranges: list[str] = []

    def hook(handler: Handler, path: str) -> bool:
        if not path.endswith(stalled):
            return False
        ranges.append(handler.headers["Range"])
        if len(ranges) > 1:
            return False
        half(handler, lab.blobs[stalled])
        time.sleep(2.0)
        return True

    lab.hook = hook
    began = time.monotonic()
    fetch(cache, make_lease(lab, unit), silence=0.3)
    assert time.monotonic() - began < 1.9
    size = len(lab.blobs[stalled])
    assert ranges == [f"bytes=0-{size - 1}", f"bytes={size // 2}-{size - 1}"]


def test_row_27_a_lab_that_always_stalls_is_given_up(lab: Lab, cache: BlobCache) -> None:
    unit = lab.product(seed=1)

    def hook(handler: Handler, path: str) -> bool:
        if "/blobs/" in path and "Range" in handler.headers:
            time.sleep(1.0)
            return True
        return False

    lab.hook = hook
    with pytest.raises(Unreachable):
        fetch(cache, make_lease(lab, unit), silence=0.2)


def test_row_24_one_lab_stalls_another_serves(lab: Lab, cache: BlobCache) -> None:
    other = Lab()
    posted: list[Any] = []
    downloads = Downloads(cache, lambda: links(3.0), lambda _lease: True, posted.append)
    release = threading.Event()
    lab.hook = lambda _handler, _path: release.wait(3)
    stuck, fine = make_lease(lab, lab.product()), make_lease(other, other.product())
    downloads.start(stuck, MEMORY)
    downloads.start(fine, MEMORY)
    until(lambda: FetchEnded(fine.lease) in posted, 2)
    release.set()
    other.close()


def test_a_damaged_blob_is_not_kept(lab: Lab, cache: BlobCache) -> None:
    unit = lab.product(seed=1)
    name = unit.message.inputs[0].blob
    lab.blobs[name] = bytes(len(lab.blobs[name]))
    lease = make_lease(lab, unit)
    with pytest.raises(DigestMismatch):
        fetch(cache, lease)
    assert not [path for path in (cache._folder / lab.id).iterdir() if name in path.name]


def test_a_redirect_is_not_followed(lab: Lab, cache: BlobCache) -> None:
    lease = make_lease(lab, lab.product())

    def hook(handler: Handler, path: str) -> bool:
        if path.endswith("/manifest"):
            handler.reply(b"", status=302, headers={"Location": f"{lab.url}/elsewhere"})
            return True
        return False

    lab.hook = hook
    with pytest.raises(BadReply, match="redirect"):
        fetch(cache, lease)
    assert not [each for each in lab.requests if "elsewhere" in each]


def test_a_reply_that_is_too_long_is_cut(lab: Lab, cache: BlobCache) -> None:
    lease = make_lease(lab, lab.product())

    def hook(handler: Handler, path: str) -> bool:
        if path.endswith("/manifest"):
            handler.reply(b" " * (8 * 1024 * 1024 + 1))
            return True
        return False

    lab.hook = hook
    with pytest.raises(Problem):
        fetch(cache, lease)


def test_loopback_is_refused_unless_allowed(lab: Lab, cache: BlobCache) -> None:
    lease = make_lease(lab, lab.product())
    fetcher = Fetcher(cache, links(allow_private=False), lambda _lease: True)
    with pytest.raises(EndpointRefused):
        fetcher.prepare(lease, MEMORY)
    assert lab.requests == []
    assert failure(EndpointRefused()).code == "lab_unreachable"


@pytest.mark.parametrize(
    ("changes", "lease_changes", "code"),
    [
        ({"graph_content": b"{}"}, {}, "bad_graph"),
        ({"flops": 1}, {}, "cost_mismatch"),
        ({}, {"flops": 5}, "cost_mismatch"),
        ({}, {"memory": 5}, "bad_graph"),
        ({}, {"input_bytes": 5}, "bad_graph"),
        ({}, {"output_bytes": 5}, "bad_graph"),
        ({"memory": 2 * MEMORY}, {}, "memory"),
        ({"unit": "f" * 32}, {"unit": "e" * 32}, "capability_refused"),
    ],
)
def test_what_is_not_right_is_refused_before_its_download(
    lab: Lab, cache: BlobCache, changes: dict[str, Any], lease_changes: dict[str, Any], code: str
) -> None:
    unit = lab.product(**changes)
    lease = make_lease(lab, unit, **lease_changes)
    with pytest.raises(HandBack) as caught:
        fetch(cache, lease)
    assert caught.value.code == code
    inputs = {each.blob for each in unit.message.inputs}
    assert not [each for each in lab.requests if each.rsplit("/", 1)[1] in inputs]


def test_a_graph_that_needs_more_memory_than_it_says_is_refused(lab: Lab, cache: BlobCache) -> None:
    lease = make_lease(lab, lab.product(memory=10))
    fetcher = Fetcher(cache, links(), lambda _lease: True)
    with pytest.raises(HandBack) as caught:
        fetcher.prepare(lease, 1000)
    assert caught.value.code == "memory"


def test_another_manifest_than_the_promised_one_is_refused(lab: Lab, cache: BlobCache) -> None:
    first, second = lab.product(seed=1), lab.product(seed=2)
    lease = make_lease(lab, first)
    lab.leases[lease.lease] = second
    with pytest.raises(HandBack) as caught:
        fetch(cache, lease)
    assert caught.value.code == "digest_mismatch"


# --- uploads -------------------------------------------------------------------------------------
def test_row_28_an_upload_that_was_cut_goes_on_where_it_was(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(700, 16, 700), tmp_path)
    size = result.sizes[0]
    cut: list[int] = []

    def hook(handler: Handler, path: str) -> bool:
        if handler.command != "PUT" or cut:
            return False
        cut.append(size * 9 // 10)
        staging = lab.staging.setdefault((result.lease.lease, 0), Staging())
        staging.content += handler.rfile.read(cut[0])
        handler.connection.close()
        return True

    lab.hook = hook
    sender = uploader(tmp_path)
    with pytest.raises(Unreachable):
        sender.upload(result, afresh=False, resumed=False)
    sender.upload(result, afresh=False, resumed=False)
    assert lab.staging[result.lease.lease, 0].complete
    assert lab.taken == size - cut[0]


def test_row_29_an_upload_begun_by_an_earlier_process_is_finished(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(300, 16, 300), tmp_path)
    content = result_file(tmp_path, result.lease.lease, 0).read_bytes()
    lab.staging[result.lease.lease, 0] = Staging()
    lab.staging[result.lease.lease, 0].content += content[:1000]
    uploader(tmp_path).upload(result, afresh=False, resumed=True)
    assert lab.taken == len(content) - 1000
    assert lab.staging[result.lease.lease, 0].complete


def test_row_29_the_lab_lost_what_it_had(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(300, 16, 300), tmp_path)
    answers: list[str] = []

    def hook(handler: Handler, path: str) -> bool:
        answers.append(handler.command)
        if handler.command == "GET":
            handler.reply(b'{"received":1000,"bytes":360000}')
            return True
        return False

    lab.hook = hook
    uploader(tmp_path).upload(result, afresh=False, resumed=True)
    assert answers == ["GET", "PUT", "PUT"]
    assert lab.staging[result.lease.lease, 0].complete


def test_a_staging_file_with_other_bytes_is_started_afresh(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(), tmp_path)
    lab.staging[result.lease.lease, 0] = Staging()
    lab.staging[result.lease.lease, 0].content += b"other"
    sender = uploader(tmp_path)
    with pytest.raises(DigestMismatch):
        sender.upload(result, afresh=False, resumed=True)
    sender.upload(result, afresh=True, resumed=True)
    assert lab.staging[result.lease.lease, 0].complete


def test_a_finished_upload_is_not_sent_twice(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(), tmp_path)
    uploader(tmp_path).upload(result, afresh=False, resumed=False)
    taken = lab.taken
    uploader(tmp_path).upload(result, afresh=False, resumed=True)
    assert lab.taken == taken


def test_a_result_whose_file_is_gone_is_handed_back(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(), tmp_path)
    result_file(tmp_path, result.lease.lease, 0).unlink()
    posted: list[Any] = []
    uploads = Uploads(tmp_path, links, lambda _lease: True, posted.append)
    uploads.start(result, afresh=False, resumed=False)
    until(lambda: posted)
    assert isinstance(posted[0], UploadEnded)
    assert posted[0].failure.trouble is Trouble.UNIT


def test_row_23_a_failing_upload_says_what_failed(lab: Lab, tmp_path: Path) -> None:
    result = finished(lab, lab.product(), tmp_path)

    def hook(handler: Handler, path: str) -> bool:
        raise LeaseEnded

    lab.hook = hook
    with pytest.raises(LeaseEnded) as caught:
        uploader(tmp_path).upload(result, afresh=False, resumed=False)
    assert failure(caught.value).trouble is Trouble.ENDED
