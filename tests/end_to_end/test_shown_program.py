"""The twelve lines of the home page run as they are shown."""

from pathlib import Path

import numpy as np
import pytest

from tests.network import Network

pytestmark = pytest.mark.network

PAGES = Path(__file__).resolve().parents[2] / "templates" / "pages"


@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_twelve_lines_run(
    network: Network,
    language: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [network.places.data / f"{name}.npy" for name in "ABC"]
    chance = np.random.default_rng(12)
    a, b = (chance.standard_normal((300, 300)).astype(np.float32) for _ in range(2))
    np.save(files[0], a)
    np.save(files[1], b)
    monkeypatch.setenv("GPUGOBLIN_LAB", str(network.places.lab))
    try:
        program = (PAGES / f"twelve_lines.{language}.txt").read_text(encoding="utf-8")
        names: dict[str, object] = {}
        exec(compile(program, "twelve_lines", "exec"), names)
        assert np.allclose(np.load(files[2]), a @ b, atol=1e-2)
        assert str((a @ b)[0, 0])[:4] in capsys.readouterr().out
    finally:
        for path in files:
            path.unlink(missing_ok=True)
