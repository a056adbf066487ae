"""Finding a lab, opening files, versions."""

from __future__ import annotations

import json
from pathlib import Path

import keyring
import keyring.backend
import numpy
import pytest

import gpugoblin
from gpugoblin import errors, places

from .fake_control import KEY, FakeLab


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


def test_the_folder_of_a_lab_node(fake: FakeLab) -> None:
    lab = gpugoblin.connect(fake.folder)
    assert "test lab" in repr(lab)
    assert "2 machines" in repr(lab)
    assert lab.info().site == "https://site.example"
    fake.stop()
    assert "does not answer" in repr(lab)


def test_a_url_needs_a_key(fake: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.TokenMissing, match="GPUGOBLIN_KEY"):
        gpugoblin.connect(fake.url)
    assert gpugoblin.connect(fake.url, key=KEY).info().name == "test lab"
    monkeypatch.setenv("GPUGOBLIN_KEY", KEY)
    assert gpugoblin.connect(fake.url).info().name == "test lab"
    with pytest.raises(errors.TokenInvalid, match=r"control\.key"):
        gpugoblin.connect(fake.url, key="wrong")


def test_a_key_is_kept_in_a_private_file_where_no_keyring_works(fake: FakeLab) -> None:
    gpugoblin.remember("http://127.0.0.1:9", "other")
    gpugoblin.remember(fake.url, KEY)
    assert gpugoblin.connect(fake.url).info().name == "test lab"
    file = places.user_config().with_name("keys.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(file.read_text())) == 2


def test_a_key_is_kept_in_the_keyring(fake: FakeLab) -> None:
    keyring.set_keyring(Ring())
    gpugoblin.remember(fake.url, KEY)
    assert gpugoblin.connect(fake.url).info().name == "test lab"
    assert not places.user_config().with_name("keys.json").exists()


def test_the_environment_and_then_the_users_config(
    fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.UnknownLab, match=r"goblin-lab init.*gpugoblin\.local"):
        gpugoblin.connect()
    places.user_config().parent.mkdir(parents=True)
    places.user_config().write_text(json.dumps({"lab": str(fake.folder)}))
    assert gpugoblin.connect().info().name == "test lab"
    monkeypatch.setenv("GPUGOBLIN_LAB", "/nowhere")
    with pytest.raises(errors.UnknownLab, match="/nowhere"):
        gpugoblin.connect()
    monkeypatch.setenv("GPUGOBLIN_LAB", str(fake.folder))
    assert gpugoblin.connect().info().name == "test lab"


@pytest.mark.parametrize("url", ["http://10.0.0.1:8472", "http://lab.example", "http://0.0.0.0"])
def test_a_key_never_travels_in_the_clear(url: str) -> None:
    with pytest.raises(errors.EndpointRefused, match="SSH tunnel"):
        gpugoblin.connect(url, key=KEY)


def test_damaged_files_of_a_lab_node(fake: FakeLab) -> None:
    (fake.folder / "control.json").write_text("{")
    with pytest.raises(errors.UnknownLab, match="damaged"):
        gpugoblin.connect(fake.folder)
    (fake.folder / "control.json").write_text(
        '{"url": "http://10.0.0.1", "key_file": "control.key"}'
    )
    with pytest.raises(errors.EndpointRefused):
        gpugoblin.connect(fake.folder)


def test_a_lab_that_is_not_running_says_how_to_start_it(fake: FakeLab) -> None:
    fake.stop()
    with pytest.raises(errors.Unreachable, match=r"refused.*goblin-lab serve"):
        gpugoblin.connect(fake.folder)


@pytest.mark.parametrize("spoken", [0, 2])
def test_row_28_another_version_is_told_at_the_first_call(fake: FakeLab, spoken: int) -> None:
    fake.protocol = spoken
    with pytest.raises(errors.UnsupportedProtocol, match=rf"protocol {spoken}.*Install") as caught:
        gpugoblin.connect(fake.folder)
    assert gpugoblin.__version__ in caught.value.detail
    assert "0.1.0" in caught.value.detail


def test_row_29_a_mismatch_is_never_passed_over(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.protocol = 2
    with pytest.raises(errors.UnsupportedProtocol):
        lab.info()


def test_files_of_the_lab_open_without_moving(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.save("A.npy", numpy.ones((3, 4), numpy.float32))
    lazy = lab.open("A.npy")
    assert lazy.shape == (3, 4)
    assert lazy.dtype == numpy.float32
    assert max(size for _, _, size in fake.requests) < 100


def test_how_a_file_is_to_be_opened_is_told(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.save("A.npy", numpy.ones((3, 4), numpy.int16))
    assert "A.npy:enc.w" in repr(lab.open("A.npy", tensor="enc.w"))
    lab.open("A.npy", shape=(3, 4), dtype=">i2", order="F", offset=8)
    tensor, raw = fake.opened
    assert (tensor.tensor, tensor.shape, tensor.dtype) == ("enc.w", None, None)
    assert (raw.shape, raw.dtype, raw.order, raw.offset) == ([3, 4], ">i2", "F", 8)
    with pytest.raises(errors.BadArgument):
        lab.open("A.npy", shape=(3, 4))


def test_integers_are_multiplied_and_mixed_types_refused(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.save("I.npy", numpy.ones((3, 3), numpy.int16))
    fake.save("J.npy", numpy.ones((3, 3), numpy.int32))
    i, j = lab.open("I.npy"), lab.open("J.npy")
    assert (i @ i).dtype == numpy.int16
    with pytest.raises(errors.DtypeUnsupported, match=r"astype\(numpy\.int32\)"):
        i @ j


def test_files_that_cannot_be_opened(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    with pytest.raises(errors.FileMissing, match=r"gone\.npy"):
        lab.open("gone.npy")
    with pytest.raises(errors.PathOutsideRoots):
        lab.open("../../secret.npy")
    fake.save("mask.npy", numpy.ones(3, bool))
    with pytest.raises(errors.DtypeUnsupported, match=r"bool.*astype"):
        lab.open("mask.npy")


def test_proxies_are_not_used_towards_a_lab_on_this_machine(
    fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert gpugoblin.connect(fake.folder).info().name == "test lab"


def test_submitting_afresh_is_never_repeated(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    lazy = lab.array(numpy.eye(4)) @ numpy.eye(4)

    def cut(handler: object) -> bool:
        handler.close_connection = handler.path == "/v1/jobs"  # type: ignore[attr-defined]
        return bool(handler.close_connection)  # type: ignore[attr-defined]

    fake.faults.append(cut)
    with pytest.raises(errors.Unreachable):
        lazy.submit(fresh=True)
    assert [path for _, path, _ in fake.requests].count("/v1/jobs") == 1


def test_every_problem_of_the_wire_is_an_error_of_this_package() -> None:
    for problem in errors.PROBLEMS.values():
        kind = getattr(errors, problem.__name__)
        assert issubclass(kind, problem)
        assert problem.__name__ in errors.__all__
        assert isinstance(errors.typed(problem("x", fact=1)), kind)
    assert errors.typed(errors.PROBLEMS["not_ready"]("x", fact=1)).facts == {"fact": 1}
    assert Path(errors.__file__).name == "errors.py"
