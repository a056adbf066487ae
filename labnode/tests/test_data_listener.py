"""Who may read and send what."""

from __future__ import annotations

import http.client
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from labnode_rig import LAB, LabProcess, SiteDouble, Volunteer, normal, save

from goblin_wire.capability import SigningKey, issue, signature_is_valid
from goblin_wire.data import Manifest, ProbeReply, UploadStatus, probe_bytes
from goblin_wire.http import HttpClient
from goblin_wire.problems import (
    BadMessage,
    BadReply,
    CapabilityExpired,
    CapabilityForeign,
    CapabilityInvalid,
    Problem,
    UnknownBlob,
    UnknownUnit,
)
from goblin_wire.protocol import DIGEST_HEADER, PROTOCOL_HEADER
from goblin_wire.states import LeaseRole


@pytest.fixture
def unit(lab: LabProcess, data: Path) -> str:
    save(data, "a.npy", normal(640, 100))
    save(data, "b.npy", normal(100, 640))
    return lab.wait_units(lab.multiply("a.npy", "b.npy").job, 4)[0]


def manifest(lab: LabProcess, lease: str, token: str) -> Manifest:
    return lab.data_client(token).call("GET", f"/v1/leases/{lease}/manifest", None, Manifest)


def test_the_probe_proves_the_lab(lab: LabProcess, site: SiteDouble) -> None:
    http = HttpClient(f"http://127.0.0.1:{lab.data_port}")
    reply = http.call("GET", "/v1/probe?nonce=0123456789abcdef", None, ProbeReply)
    assert reply.lab == LAB
    assert signature_is_valid(
        site.lab_key, probe_bytes(LAB, reply.nonce), bytes.fromhex(reply.signature)
    )
    for query in ("", "?nonce=", "?nonce=xyz", "?nonce=" + "a" * 65):
        with pytest.raises(BadMessage):
            http.call("GET", f"/v1/probe{query}", None, ProbeReply)


def test_a_capability_opens_its_unit(lab: LabProcess, site: SiteDouble, unit: str) -> None:
    lease, token = site.capability(unit)
    found = manifest(lab, lease, token)
    assert found.unit == unit
    assert [each.name for each in found.inputs[:2]] == ["a0", "b0"]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"lab": "0" * 32}, CapabilityForeign),
        ({"unit_": "0" * 32}, UnknownUnit),
        ({"manifest": "0" * 64}, CapabilityForeign),
        ({"output_bytes": 1}, CapabilityForeign),
        ({"role": LeaseRole.VERIFY}, CapabilityForeign),
        ({"age": 100, "lifetime": 1.0}, None),
        ({"age": 1000, "lifetime": 1.0}, CapabilityExpired),
        ({"age": -1000}, CapabilityExpired),
        ({"kid": "unknown"}, CapabilityInvalid),
    ],
)
def test_what_a_capability_says_counts(
    lab: LabProcess,
    site: SiteDouble,
    unit: str,
    changes: dict[str, Any],
    kind: type[Problem] | None,
) -> None:
    claims = site.claims(unit)
    claims.issued = time.time() - changes.get("age", 0)
    for name, value in changes.items():
        if name != "age":
            setattr(claims, name.rstrip("_"), value)
    token = issue(site.key, claims)
    if kind is None:
        manifest(lab, claims.lease, token)
        return
    with pytest.raises(kind):
        manifest(lab, claims.lease, token)


def test_the_clock_of_the_site_counts(lab: LabProcess, site: SiteDouble, unit: str) -> None:
    site.clock_ahead = 5000.0
    site.news.set()
    try:
        lease, token = site.capability(unit, issued=time.time() + 5000)
        deadline = time.monotonic() + 5
        while True:
            try:
                manifest(lab, lease, token)
                break
            except CapabilityExpired:
                assert time.monotonic() < deadline
                time.sleep(0.05)
    finally:
        site.clock_ahead = 0.0
        site.news.set()


def test_damaged_and_forged_tokens(lab: LabProcess, site: SiteDouble, unit: str) -> None:
    claims = site.claims(unit)
    token = issue(site.key, claims)
    forged = issue(SigningKey(SigningKey.generate()._private, kid=site.key.kid), claims)
    for bad in (token[:-4], "x" + token, token.replace(".", ""), "a.b", "." * 5000, forged):
        with pytest.raises(CapabilityInvalid):
            manifest(lab, claims.lease, bad)
    with pytest.raises(CapabilityInvalid):
        manifest(lab, claims.lease, "")


def test_another_lease_and_other_blobs(
    lab: LabProcess, site: SiteDouble, unit: str, data: Path
) -> None:
    lease, token = site.capability(unit)
    with pytest.raises(CapabilityForeign):
        manifest(lab, secrets.token_hex(16), token)
    units = [each for each in site.units if site.unit_jobs[each] == site.unit_jobs[unit]]
    mine = {each.blob for each in manifest(lab, lease, token).inputs}
    for other in units:
        other_lease, other_token = site.capability(other)
        foreign = {each.blob for each in manifest(lab, other_lease, other_token).inputs} - mine
        for blob in foreign:
            with pytest.raises(UnknownBlob):
                lab.data_client(token).get_bytes(f"/v1/leases/{lease}/blobs/{blob}")
    with pytest.raises(CapabilityForeign):
        manifest(lab, lease, site.capability(units[1], lease=lease)[1])


def test_ranges(lab: LabProcess, site: SiteDouble, unit: str) -> None:
    volunteer = Volunteer(lab)
    lease, token = volunteer.lease(unit)
    found, _, inputs = volunteer.fetch(lease, token)
    first = found.inputs[0]
    whole = inputs[first.name].tobytes()
    url = f"http://127.0.0.1:{lab.data_port}/v1/leases/{lease}/blobs/{first.blob}"
    for span, want in (
        ("bytes=0-9", whole[:10]),
        ("bytes=100-", whole[100:]),
        (f"bytes=5-{2**40}", whole[5:]),
    ):
        response = requests.get(
            url, headers={"Authorization": f"Goblin {token}", "Range": span}, timeout=5
        )
        assert response.status_code == 206
        assert response.content == want
        assert response.headers["Content-Range"].endswith(f"/{len(whole)}")
    for span in (
        "bytes=-5",
        "bytes=9-3",
        "lines=0-5",
        "bytes=0-1,4-5",
        "bytes=x-y",
        f"bytes={2**40}-",
    ):
        response = requests.get(
            url, headers={"Authorization": f"Goblin {token}", "Range": span}, timeout=5
        )
        assert response.json()["code"] == "bad_message"


def test_no_name_is_told(lab: LabProcess, site: SiteDouble, data: Path) -> None:
    save(data, "sentinel_left.npy", normal(300, 100))
    save(data, "sentinel_right.npy", normal(100, 300))
    job = lab.multiply(
        "sentinel_left.npy", "sentinel_right.npy", name="sentinel_job", out="sentinel_out.npy"
    ).job
    unit = lab.wait_units(job, 1)[0]
    lease, token = site.capability(unit)
    http = lab.data_client(token)
    raw = http.get_bytes(f"/v1/leases/{lease}/manifest")
    found = manifest(lab, lease, token)
    graph = http.get_bytes(f"/v1/leases/{lease}/blobs/{found.graph}")
    told = raw + graph + repr(site.units).encode() + repr(site.jobs).encode()
    assert b"sentinel" not in told
    assert b"x0" not in graph


def test_failures_are_problems(lab: LabProcess) -> None:
    url = f"http://127.0.0.1:{lab.data_port}"
    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/v1/leases", 404),
        ("POST", "/v1/probe", 405),
        ("GET", "/v1/probe/", 404),
        ("DELETE", f"/v1/leases/{'0' * 32}/manifest", 405),
    ):
        response = requests.request(method, url + path, timeout=5)
        assert response.status_code == status
        assert response.headers["Content-Type"] == "application/problem+json"
        assert "server" not in {name.lower() for name in response.headers}


@pytest.mark.parametrize(
    ("spoken", "status"), [(None, 200), ("1", 200), ("0", 426), ("2", 426), ("x", 400)]
)
def test_row_28_every_request_carries_the_version(
    lab: LabProcess, spoken: str | None, status: int
) -> None:
    headers = {} if spoken is None else {PROTOCOL_HEADER: spoken}
    for port, path in (
        (lab.data_port, f"/v1/probe?nonce={'a' * 32}"),
        (lab.control_port, "/v1/lab"),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        key = (lab.folder / "control.key").read_text()
        connection.request("GET", path, headers={**headers, "Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        assert response.status == status, content
        if status == 426:
            assert b"unsupported_protocol" in content


def test_nothing_is_stored_without_a_capability(lab: LabProcess, unit: str) -> None:
    before = sorted((lab.folder / "staging").iterdir())
    with pytest.raises((CapabilityInvalid, BadReply)):
        lab.data_client("x.y").put(
            f"/v1/leases/{'0' * 32}/outputs/0?offset=0",
            b"x" * 100,
            UploadStatus,
            headers={DIGEST_HEADER: "0" * 64},
        )
    assert sorted((lab.folder / "staging").iterdir()) == before
