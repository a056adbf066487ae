"""The program: init, serve, doctor, and the descriptions of its listeners."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import time
from pathlib import Path

import pytest
from labnode_rig import LAB, TOKEN, LabProcess, SiteDouble, free_port

from goblin_labnode.openapi import documents
from goblin_labnode.ports import PortTaken, listen
from goblin_wire.addresses import resolve_endpoint
from goblin_wire.data import ProbeReply
from goblin_wire.http import HttpClient
from goblin_wire.lab import Reachability
from goblin_wire.problems import BadCertificate

DOCUMENTS = Path(__file__).parents[2] / "docs" / "openapi"


@pytest.mark.parametrize("name", sorted(documents()))
def test_the_descriptions_are_fresh(name: str) -> None:
    assert (DOCUMENTS / name).read_bytes() == documents()[name], "run `make openapi`"


def test_doctor_of_a_running_node(lab: LabProcess) -> None:
    done = lab.run("doctor", str(lab.folder), "--json")
    report = json.loads(done.stdout)
    assert report["ok"]
    checks = {each["check"]: each for each in report["checks"]}
    assert set(checks) >= {
        "site",
        "clock",
        "endpoint",
        "root data",
        "formats",
        "room",
        "secrets",
        "data port",
        "control port",
    }
    assert "zarr version 3" in checks["formats"]["detail"]
    assert str(lab.process.pid) in checks["data port"]["detail"]  # type: ignore[union-attr]


def test_doctor_says_what_is_wrong(lab: LabProcess, site: SiteDouble) -> None:
    site.reachability = Reachability(
        reachable=False, code="endpoint_unreachable", reason="Connection refused."
    )
    site.clock_ahead = 1000.0
    try:
        done = lab.run("doctor", str(lab.folder), check=False)
    finally:
        site.clock_ahead = 0.0
    assert done.returncode == 1
    assert "Connection refused." in " ".join(done.stdout.split())
    assert "clock" in done.stdout


def test_a_port_in_use_is_named(lab: LabProcess, tmp_path: Path, site: SiteDouble) -> None:
    other = LabProcess(tmp_path / "other", site, lab.data)
    other.run(
        "init",
        str(other.folder),
        "--site",
        site.url,
        "--root",
        f"data={lab.data}",
        "--token",
        TOKEN,
        "--data-port",
        str(lab.data_port),
    )
    began = time.monotonic()
    done = other.run("serve", str(other.folder), check=False)
    assert done.returncode == 1
    assert time.monotonic() - began < 10
    assert str(lab.data_port) in done.stderr
    assert str(lab.process.pid) in done.stderr  # type: ignore[union-attr]


def test_one_process_per_folder(lab: LabProcess) -> None:
    done = lab.run("serve", str(lab.folder), check=False)
    assert done.returncode == 1
    assert "already" in done.stderr


def test_the_port_of_nobody_is_free() -> None:
    port = free_port()
    listener = listen("127.0.0.1", port)
    with pytest.raises(PortTaken, match=str(port)):
        listen("127.0.0.1", port)
    listener.close()


def test_init_refuses(tmp_path: Path, site: SiteDouble, lab: LabProcess) -> None:
    folder = str(tmp_path / "new")
    common = ["init", folder, "--site", site.url, "--token", TOKEN]
    cases = [
        ([*common, "--root", "nothing"], "NAME=PATH"),
        ([*common, "--root", f"x={tmp_path / 'missing'}"], "not a folder"),
        ([*common, "--root", f"x={tmp_path}", "--endpoint", "http://203.0.113.7:80"], "loopback"),
        (
            [
                "init",
                folder,
                "--site",
                "http://127.0.0.1:9",
                "--token",
                TOKEN,
                "--root",
                f"x={tmp_path}",
            ],
            "unreachable",
        ),
        (
            ["init", folder, "--site", site.url, "--token", "wrong", "--root", f"x={tmp_path}"],
            "token_invalid",
        ),
        (["init", folder, "--site", "h", "--root", f"x={tmp_path}"], "begins with https://"),
        (["init", folder, "--site", "http://203.0.113.7", "--root", f"x={tmp_path}"], "https://"),
        (["serve", str(tmp_path)], "goblin-lab init"),
    ]
    for arguments, sentence in cases:
        done = lab.run(*arguments, check=False)
        assert done.returncode in (1, 3), done
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def test_init_again_keeps_the_keys(tmp_path: Path, site: SiteDouble, lab: LabProcess) -> None:
    folder = tmp_path / "lab"
    arguments = [
        "init",
        str(folder),
        "--site",
        site.url,
        "--token",
        TOKEN,
        "--root",
        f"data={lab.data}",
        "--json",
    ]
    assert json.loads(lab.run(*arguments).stdout)["lab"] == LAB
    before = {name: (folder / name).read_bytes() for name in ("control.key", "secrets.json")}
    lab.run(*arguments)
    assert {name: (folder / name).read_bytes() for name in before} == before
    user = json.loads((lab.folder.parent / "user" / "gpugoblin" / "config.json").read_text())
    assert Path(user["lab"]).is_dir()


def test_tls_with_a_pinned_certificate(tmp_path: Path, site: SiteDouble, lab: LabProcess) -> None:
    port = free_port()
    secure = LabProcess(
        tmp_path / "lab",
        site,
        lab.data,
        "--endpoint",
        f"https://127.0.0.1:{port}",
        "--data-host",
        "127.0.0.1",
        "--data-port",
        str(port),
    )
    secure.data_port = port
    secure.start()
    raw = ssl.get_server_certificate(("127.0.0.1", port))
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(raw)).hexdigest()
    for certificate, good in ((digest, True), ("0" * 64, False)):
        endpoint = resolve_endpoint(
            f"https://127.0.0.1:{port}", allow_private=True, certificate=certificate
        )
        http = HttpClient.for_endpoint(endpoint, certificate=certificate)
        if good:
            assert http.call("GET", "/v1/probe?nonce=0123456789abcdef", None, ProbeReply).lab
        else:
            with pytest.raises(BadCertificate):
                http.call("GET", "/v1/probe?nonce=0123456789abcdef", None, ProbeReply)
        http.close()
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.sendall(b"GET /v1/probe HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" not in plain.recv(100)
    secure.stop()


def test_version_and_licence(lab: LabProcess) -> None:
    assert "PolyForm Noncommercial" in lab.run("--version").stdout
