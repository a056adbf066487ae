"""`HttpClient` against real servers on loopback."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from goblin_wire import http, problems, transport
from goblin_wire.addresses import resolve_endpoint
from goblin_wire.http import HttpClient
from goblin_wire.protocol import PROTOCOL, PROTOCOL_HEADER

from .conftest import Handler, Identity, Server

Serve = Callable[..., Server]


class Reply(Struct):
    number: int


def fixed(status: int, body: bytes, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, body, **headers)


def test_a_message_goes_out_and_its_answer_comes_back(serve: Serve) -> None:
    server = serve(fixed(200, b'{"number": 7}'))
    client = HttpClient(server.url + "/", authorization="Bearer T")
    assert client.call("POST", "/x", Reply(number=3), Reply).number == 7
    request = server.seen[0]
    assert request.body == b'{"number":3}'
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Authorization"] == "Bearer T"
    assert request.headers["Accept-Encoding"] == "identity"
    assert request.headers[PROTOCOL_HEADER] == str(PROTOCOL)


def test_netrc_never_replaces_the_authorization(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server = serve(fixed(200, b"{}"))
    HttpClient(server.url, authorization="Bearer T").get_bytes("/x")
    HttpClient(server.url).get_bytes("/x")
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer T", None]


def test_cookies_are_not_kept(serve: Serve) -> None:
    server = serve(fixed(200, b"{}", Set_Cookie="a=b"))
    client = HttpClient(server.url)
    client.get_bytes("/x")
    client.get_bytes("/x")
    assert server.seen[1].headers["Cookie"] is None


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused(serve: Serve, status: int) -> None:
    elsewhere = serve(fixed(200, b"{}"))
    server = serve(fixed(status, b"", Location=elsewhere.url))
    with pytest.raises(problems.BadReply, match="redirect") as caught:
        HttpClient(server.url).call("GET", "/x", None, Reply)
    assert caught.value.facts["status"] == status
    assert elsewhere.seen == []


def test_a_reply_above_the_cap_is_refused(serve: Serve) -> None:
    server = serve(fixed(200, b"x" * 1001))
    with pytest.raises(problems.TooLarge):
        HttpClient(server.url).get_bytes("/x", limit=1000)
    assert HttpClient(server.url).get_bytes("/x", limit=1001) == b"x" * 1001


def test_a_chunked_reply_without_end_is_cut_at_the_cap(serve: Serve) -> None:
    def endless(handler: Handler) -> None:
        handler.reply(200, Transfer_Encoding="chunked")
        while True:
            handler.wfile.write(b"400\r\n" + b"x" * 1024 + b"\r\n")

    with pytest.raises(problems.TooLarge):
        HttpClient(serve(endless).url).get_bytes("/x", limit=100_000)


def test_a_compressed_reply_is_refused(serve: Serve) -> None:
    server = serve(fixed(200, b"\x1f\x8b", Content_Encoding="gzip"))
    with pytest.raises(problems.BadReply, match="compressed"):
        HttpClient(server.url).get_bytes("/x")


def test_a_truncated_reply_is_unreachable(serve: Serve) -> None:
    def short(handler: Handler) -> None:
        handler.reply(200, b'{"number"', Content_Length="100")
        handler.close_connection = True

    with pytest.raises(problems.Unreachable, match="in the middle of its reply"):
        HttpClient(serve(short).url).call("GET", "/x", None, Reply)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"number": "x"}', b"\xff"])
def test_an_answer_that_is_no_message_is_a_bad_reply(serve: Serve, body: bytes) -> None:
    client = HttpClient(serve(fixed(200, body)).url)
    with pytest.raises(problems.BadReply):
        client.call("GET", "/x", None, Reply)
    with pytest.raises(problems.BadReply):
        client.put("/x", b"content", Reply)


@pytest.mark.parametrize("kind", sorted(problems.PROBLEMS))
def test_every_problem_arrives_as_its_exception(serve: Serve, kind: str) -> None:
    sent = problems.PROBLEMS[kind]("What happened.", retry_after=3.0, received=5)
    headers = {"Content_Type": problems.PROBLEM_JSON}
    server = serve(fixed(sent.status, sent.to_bytes(), **headers))
    with pytest.raises(problems.PROBLEMS[kind]) as caught:
        HttpClient(server.url).call("GET", "/x", None, Reply)
    assert type(caught.value) is problems.PROBLEMS[kind]
    assert caught.value.detail == "What happened."
    assert caught.value.retry_after == 3.0
    assert caught.value.facts == {"received": 5}


def test_an_html_error_is_a_bad_reply_with_its_beginning(serve: Serve) -> None:
    page = b"<html><h1>Server Error</h1>\x1b[31m" + b"y" * 200_000
    server = serve(fixed(500, page, Content_Type="text/html"))
    with pytest.raises(problems.BadReply, match=r"Status 500.*<h1>Server Error") as caught:
        HttpClient(server.url).call("GET", "/x", None, Reply)
    assert "\x1b" not in caught.value.detail
    assert len(caught.value.detail) < 260
    assert caught.value.facts["status"] == 500


def test_a_silent_server_ends_the_wait(serve: Serve) -> None:
    def silent(handler: Handler) -> None:
        handler.reply(200, b"{", Content_Length="9")
        time.sleep(1.5)

    start = time.monotonic()
    with pytest.raises(problems.Unreachable, match=r"silent|in time"):
        HttpClient(serve(silent).url, read_timeout=0.3).call("GET", "/x", None, Reply)
    assert time.monotonic() - start < 1.4


def test_a_trickling_server_ends_the_wait(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PATIENCE_S", 0.3)

    def trickle(handler: Handler) -> None:
        handler.reply(200, Content_Length="100000")
        for _ in range(60):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    client = HttpClient(serve(trickle).url)
    with pytest.raises(problems.Unreachable, match="silent for too long"):
        client.get_bytes("/x")
    assert 0 < client.read_into("/x", memoryview(bytearray(100000))) < 100


def test_a_refused_connection_says_so_without_the_path(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(problems.Unreachable, match=r"connection was refused\.$") as caught:
        HttpClient(f"http://127.0.0.1:{port}").get_bytes("/wait?ticket=SECRET")
    assert "SECRET" not in caught.value.detail
    assert "SECRET" not in caplog.text


def test_a_server_that_is_just_starting_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = HttpClient(f"http://127.0.0.1:{free.getsockname()[1]}", connect_retries=3)
        with pytest.raises(problems.Unreachable):
            client.get_bytes("/x")
    assert waited == [0.05, 0.1, 0.2]


def test_a_name_that_does_not_resolve_says_so() -> None:
    client = HttpClient("http://nowhere.invalid", connect_retries=0, trust_environment=False)
    with pytest.raises(problems.Unreachable, match="does not resolve"):
        client.get_bytes("/x")


def test_bytes_go_straight_into_the_buffer(serve: Serve) -> None:
    content = bytes(range(256)) * 4096

    def ranged(handler: Handler) -> None:
        first, last = handler.headers["Range"].removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        handler.reply(206, part, Content_Range=f"bytes {first}-{last}/{len(content)}")

    client = HttpClient(serve(ranged).url)
    target = bytearray(len(content))
    view = memoryview(target)
    assert client.read_into("/blob", view[:1000]) == 1000
    assert client.read_into("/blob", view[1000:], offset=1000) == len(content) - 1000
    assert target == content
    assert client.read_into("/blob", view[:0]) == 0


def test_a_broken_download_says_how_far_it_came(serve: Serve) -> None:
    def short(handler: Handler) -> None:
        handler.reply(200, b"x" * 700_000, Content_Length="1000000")
        handler.close_connection = True

    buffer = memoryview(bytearray(1_000_000))
    assert HttpClient(serve(short).url).read_into("/blob", buffer) == 700_000


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (206, {"Content_Range": "bytes 0-9/20"}),
        (206, {"Content_Range": "bytes 5-14/20", "Content_Length": "11"}),
        (206, {}),
    ],
)
def test_the_wrong_part_of_a_blob_is_a_bad_reply(
    serve: Serve, status: int, headers: dict[str, str]
) -> None:
    client = HttpClient(serve(fixed(status, b"x" * 10, **headers)).url)
    with pytest.raises(problems.BadReply):
        client.read_into("/blob", memoryview(bytearray(10)), offset=5)


def test_put_sends_any_buffer_with_its_length(serve: Serve) -> None:
    server = serve(fixed(200, b'{"number": 1}'))
    client = HttpClient(server.url)
    array = np.arange(200_000, dtype=np.float32).reshape(2, -1)
    client.put("/x", array, Reply, headers={"Goblin-Digest": "d"})
    client.put("/x", memoryview(b"abc"), Reply)
    client.put("/x", b"", Reply)
    assert [len(seen.body) for seen in server.seen] == [array.nbytes, 3, 0]
    assert server.seen[0].body == array.tobytes()
    assert all(seen.headers["Transfer-Encoding"] is None for seen in server.seen)
    assert server.seen[0].headers["Goblin-Digest"] == "d"
    assert server.seen[2].headers["Content-Length"] == "0"


def test_an_upload_that_is_refused_early_gives_the_problem(serve: Serve) -> None:
    server = serve(fixed(410, problems.LeaseEnded().to_bytes(), Content_Type=problems.PROBLEM_JSON))
    with pytest.raises(problems.LeaseEnded):
        HttpClient(server.url).put("/x", bytes(10_000_000), Reply)


def test_the_pinned_certificate_is_enough(serve: Serve, identity: Identity) -> None:
    server = serve(fixed(200, b'{"number": 7}'), identity)
    endpoint = resolve_endpoint(server.url, allow_private=True, certificate=identity.fingerprint)
    client = HttpClient.for_endpoint(endpoint, certificate=identity.fingerprint)
    assert client.call("GET", "/x", None, Reply).number == 7
    assert server.seen[0].headers["Host"] == server.url.removeprefix("https://")


def test_another_certificate_is_refused_before_the_request(
    serve: Serve, identity: Identity
) -> None:
    server = serve(fixed(200, b"{}"), identity)
    client = HttpClient(server.url, authorization="Bearer SECRET", certificate="ab" * 32)
    with pytest.raises(problems.BadCertificate, match="not the one that was expected"):
        client.get_bytes("/x")
    assert server.seen == []


def test_a_bundle_in_the_environment_changes_nothing_for_a_pin(
    serve: Serve, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(identity.file))
    server = serve(fixed(200, b"{}"), identity)
    with pytest.raises(problems.BadCertificate):
        HttpClient(server.url, certificate="ab" * 32).get_bytes("/x")


def test_a_self_signed_certificate_is_refused_without_a_pin(
    serve: Serve, identity: Identity
) -> None:
    server = serve(fixed(200, b"{}"), identity)
    with pytest.raises(problems.BadCertificate, match="self-signed"):
        HttpClient(server.url).get_bytes("/x")
    assert server.seen == []


def test_row_33_an_expired_certificate_is_named(
    serve: Serve, expired_identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(expired_identity.file))
    server = serve(fixed(200, b"{}"), expired_identity)
    with pytest.raises(problems.BadCertificate, match="certificate has expired"):
        HttpClient(server.url).get_bytes("/x")


def test_plain_http_where_tls_was_expected_is_unreachable(serve: Serve) -> None:
    server = serve(fixed(200, b"{}"))
    client = HttpClient(server.url.replace("http:", "https:"), certificate="ab" * 32)
    with pytest.raises(problems.Unreachable, match="TLS"):
        client.get_bytes("/x")


def test_proxies_are_for_the_site_only(
    serve: Serve, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(fixed(200, b'{"number": 9}'))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    monkeypatch.setenv("no_proxy", "")
    lab = serve(fixed(200, b'{"number": 7}'), identity)
    endpoint = resolve_endpoint(lab.url, allow_private=True, certificate=identity.fingerprint)
    to_lab = HttpClient.for_endpoint(endpoint, certificate=identity.fingerprint)
    assert to_lab.call("GET", "/x", None, Reply).number == 7
    pinned = HttpClient(lab.url, certificate=identity.fingerprint, trust_environment=True)
    assert pinned.call("GET", "/x", None, Reply).number == 7
    assert proxy.seen == []
    assert HttpClient("http://site.invalid").call("GET", "/x", None, Reply).number == 9
    assert len(proxy.seen) == 1


def test_row_32_a_proxy_that_wants_a_password_is_named(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handler: Handler) -> None:
        handler.reply(407)

    proxy = serve(refuse)
    monkeypatch.setattr(Handler, "do_CONNECT", Handler.handle_any, raising=False)
    monkeypatch.setenv("https_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(problems.Unreachable, match=r"proxy did not let it through.*407"):
        HttpClient("https://site.invalid").get_bytes("/x")


def test_timeouts_have_names() -> None:
    assert http.CONNECT_TIMEOUT_S < http.READ_TIMEOUT_S
