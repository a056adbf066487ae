"""A lab node in this process, and nothing of this machine's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from hypothesis import settings
from keyring.backends import fail

import gpugoblin

from .fake_control import FakeLab

settings.register_profile("sdk", deadline=None)  # machines are shared while tests run
settings.load_profile("sdk")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No lab, key or keyring of the person who runs the tests."""
    for name in ("GPUGOBLIN_LAB", "GPUGOBLIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeLab]:
    lab = FakeLab(tmp_path / "lab")
    yield lab
    lab.stop()


@pytest.fixture
def lab(fake: FakeLab) -> gpugoblin.Lab:
    return gpugoblin.connect(fake.folder)
