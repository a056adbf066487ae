"""The commands without a running client."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from client.tests.servers import TOKEN, Handler, Site
from goblin_client import joining
from goblin_client.__main__ import duration, main, size
from goblin_client.directory import Membership, StateDirectory
from goblin_client.errors import ClientError, Refused
from goblin_client.joining import sign_in
from goblin_client.site import BadSite, check_site
from goblin_client.store import Settlement, Store
from goblin_wire.codec import encode
from goblin_wire.problems import SignInDenied, SignInPending
from goblin_wire.signin import SignInCode, SignInToken
from goblin_wire.tokens import Scope


def test_join_with_a_token_keeps_it_closed_to_others(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "new")
    assert main(["join", "--site", site.url, "--token", TOKEN, "--state", place]) == 0
    state = StateDirectory(tmp_path / "new")
    assert state.membership() == Membership(site=site.url, token=TOKEN)
    assert stat.S_IMODE(state.membership_file.stat().st_mode) == 0o600
    assert TOKEN not in capsys.readouterr().out


def test_a_token_may_come_from_the_environment(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOBLIN_VOLUNTEER_TOKEN", TOKEN)
    assert main(["join", "--site", site.url, "--state", str(tmp_path / "state")]) == 0
    assert StateDirectory(tmp_path / "state").membership().token == TOKEN
    with pytest.raises(SystemExit):
        main(["join", "--help"])
    assert TOKEN not in capsys.readouterr().out


@pytest.mark.parametrize(
    "token",
    ["", "x", "gbl_0123456789abcdef_" + "A" * 43, TOKEN[:-1] + "B"],
)
def test_a_wrong_token_is_refused_and_nothing_is_kept(
    site: Site, tmp_path: Path, token: str
) -> None:
    with pytest.raises(Refused):
        joining.check_token(site.url, token)
    place = str(tmp_path / "new")
    if token:
        assert main(["join", "--site", site.url, "--token", token, "--state", place]) == 3
    assert not (tmp_path / "new").exists()


def signing_in(site: Site, answers: list[object]) -> None:
    code = SignInCode(
        device_code="secret",
        user_code="ABCD-EFGH",
        url="https://site.example/sign-in/",
        interval_s=1.0,
        expires_s=20.0,
    )

    def hook(handler: Handler, path: str) -> bool:
        if not path.startswith("/api/v1/sign-in"):
            return False
        handler.body()
        if path == "/api/v1/sign-in":
            handler.reply(encode(code))
            return True
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        handler.reply(encode(answer))
        return True

    site.hook = hook


def test_sign_in_polls_until_a_person_has_confirmed(site: Site) -> None:
    token = SignInToken(token=TOKEN, scope=Scope.VOLUNTEER, expires_s=1000)
    signing_in(site, [SignInPending(), SignInPending(), token])
    shown: list[SignInCode] = []
    slept: list[float] = []
    assert sign_in(site.url, "mine", shown.append, sleep=slept.append) == TOKEN
    assert shown[0].user_code == "ABCD-EFGH"
    assert slept == [1.0, 1.0, 1.0]


def test_sign_in_that_is_denied(site: Site) -> None:
    signing_in(site, [SignInPending(), SignInDenied()])
    with pytest.raises(Refused, match="denied"):
        sign_in(site.url, "", lambda _code: None, sleep=lambda _seconds: None)


def test_sign_in_that_nobody_confirms_ends(site: Site) -> None:
    signing_in(site, [SignInPending() for _ in range(50)])
    with pytest.raises(Refused, match="expired"):
        sign_in(site.url, "", lambda _code: None, sleep=lambda _seconds: None)


def test_a_site_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="refused"):
        joining.check_token("http://127.0.0.1:9", TOKEN)


@pytest.mark.parametrize(
    "url",
    [
        "http://site.example",
        "ftp://127.0.0.1",
        "https://",
        "https://a:b@c",
        "https://h/?q=1",
        "x",
        "http://[::1",
        "https://h:99999",
    ],
)
def test_addresses_that_are_no_site(url: str) -> None:
    with pytest.raises(BadSite):
        check_site(url)


def test_addresses_of_sites() -> None:
    assert check_site("https://site.example/") == "https://site.example"
    assert check_site("http://localhost:8000") == "http://localhost:8000"
    assert check_site("http://[::1]:80") == "http://[::1]:80"


def test_status_without_a_running_client(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(state.database)
    store.settle(
        Settlement(
            lease="a" * 32,
            lab="b" * 32,
            at=1.0,
            verdict="rejected",
            code="wrong",
            reason="Row 7 is wrong.",
            flops=0,
        )
    )
    store.close()
    assert main(["status", "--json", "--state", str(state.path)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["running"] is False
    assert shown["settled"] == {"rejected": 1}
    assert shown["refusals"][0]["reason"] == "Row 7 is wrong."
    assert "accepted" not in shown["account"].get("error", "")
    assert main(["status", "--offline", "--state", str(state.path)]) == 0
    text = capsys.readouterr().out
    assert "not running" in text
    assert "rejected (wrong): Row 7 is wrong. [lease aaaaaaaa]" in text


def test_pause_without_a_running_client_is_remembered(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pause", "--state", str(state.path)]) == 0
    assert main(["status", "--offline", "--state", str(state.path)]) == 0
    assert "paused until you resume" in capsys.readouterr().out
    assert main(["resume", "--state", str(state.path)]) == 0
    assert main(["status", "--offline", "--json", "--state", str(state.path)]) == 0
    assert '"paused":false' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "status", "pause", "resume", "leave"])
def test_who_has_not_joined_is_told(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--state", str(tmp_path / "nothing")]) == 1
    said = capsys.readouterr().err
    assert "has not joined a site" in said
    assert "goblin-client join --site" in said
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_membership_is_told(state: StateDirectory) -> None:
    state.membership_file.write_bytes(b"{")
    assert main(["status", "--state", str(state.path)]) == 1


def test_leave_keeps_what_is_not_ours(state: StateDirectory) -> None:
    (state.path / "diary.txt").write_text("mine")
    assert main(["leave", "--state", str(state.path)]) == 0
    assert [path.name for path in state.path.iterdir()] == ["diary.txt"]


def test_sizes_and_times() -> None:
    assert (size("1500"), size("2G"), size("1.5GiB"), size("800m")) == (
        1500,
        2 * 1024**3,
        3 * 1024**3 // 2,
        800 * 1024**2,
    )
    assert (duration("90"), duration("30m"), duration("1.5h")) == (90.0, 1800.0, 5400.0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--memory", "0"],
        ["run", "--memory", "-1"],
        ["run", "--memory", "nan"],
        ["run", "--threads", "0"],
        ["run", "--device", "tpu"],
        ["pause", "--for", "soon"],
        ["join"],
    ],
)
def test_wrong_arguments(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "hand back, sign off" in capsys.readouterr().err


def test_the_version_names_the_licence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert "PolyForm Noncommercial 1.0.0" in capsys.readouterr().out


def test_a_state_directory_that_cannot_be_used_is_told_without_a_traceback(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    state.database.write_bytes(b"this is no database, " * 100)
    assert main(["status", "--offline", "--state", str(state.path)]) == 1
    assert "cannot be used" in capsys.readouterr().err
