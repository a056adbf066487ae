"""What is left of a submission whose output cannot be given its name."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from labnode_rig import LAB, TOKEN, product

from goblin_labnode.config import Config, Folder
from goblin_labnode.jobs import Jobs
from goblin_labnode.keys import Secrets
from goblin_labnode.node import Node
from goblin_labnode.phases import Phase
from goblin_labnode.roots import Place, Roots
from goblin_wire.problems import FileUnreadable


class Lab:
    """A lab node without threads and listeners."""

    def __init__(self, path: Path) -> None:
        self.data = path / "data"
        self.data.mkdir(exist_ok=True)
        self._folder = Folder(path / "lab")
        self._secrets = Secrets.generate(TOKEN)
        self.node, self.jobs = self._start()

    def _start(self) -> tuple[Node, Jobs]:
        config = Config(
            site="http://127.0.0.1:1",
            lab=LAB,
            roots={"data": str(self.data)},
            endpoint="http://127.0.0.1:2",
        )
        node = Node(self._folder, config, self._secrets)
        return node, Jobs(node, lambda _run: None, lambda: None)

    def restart(self) -> None:
        self.node.close()
        self.node, self.jobs = self._start()
        self.jobs.restore()

    def phase(self) -> Phase:
        (run,) = self.node.runs()
        return run.record.phase

    def submit(self) -> None:
        numpy.save(self.data / "a.npy", numpy.ones((8, 8), numpy.float32))
        a = self.node.arrays.open_file("a.npy").info
        self.jobs.submit(product(a, a, out="c.npy"))


def no_links(_roots: Roots, _place: Place, _name: str) -> None:
    """As on a file system that has no hard links."""
    raise FileUnreadable("Operation not permitted.")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_refused_submission_leaves_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Roots, "link", no_links)
    with pytest.raises(FileUnreadable):
        lab.submit()
    assert lab.node.runs() == []
    assert [path.name for path in lab.data.iterdir()] == ["a.npy"]
    lab.restart()
    assert lab.node.runs() == []


def test_after_a_restart_it_waits(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(
            Jobs, "_settle", lambda *_, **__: None
        )  # killed before the file had its name
        lab.submit()
    monkeypatch.setattr(Roots, "link", no_links)
    lab.restart()
    assert lab.phase() is Phase.PAUSED
    monkeypatch.undo()
    (run,) = lab.node.runs()
    lab.jobs.resume(run)
    assert lab.phase() is Phase.ACTIVE
    assert (lab.data / "c.npy").exists()
