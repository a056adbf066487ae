#!/usr/bin/env python3
"""Rewrite constraints.txt: what pip resolves today for every room and for the tests."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("wire", "opgraph", "client", "labnode", "sdk")
HEADER = """\
# Exact versions for Python 3.11; used by every `pip install` of the Makefile.
# Written by `make lock`; do not edit.
"""


def resolve(folder: Path) -> list[str]:
    """Install everything without constraints into a fresh environment; its `pip freeze` lines."""
    venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    rooms = [argument for room in ROOMS for argument in ("-e", f"./{room}")]
    subprocess.run([*pip, "install", "-q", "hatchling", "editables"], cwd=ROOT, check=True)
    subprocess.run(
        [*pip, "install", "-q", "--no-build-isolation", *rooms, "-e", ".[test]"],
        cwd=ROOT,
        check=True,
    )
    frozen = subprocess.run(
        [*pip, "freeze", "--exclude-editable"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [line for line in frozen if "==" in line]


def main() -> int:
    """Write the file at the root of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        lines = resolve(Path(folder) / "venv")
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(sorted(lines, key=str.lower)) + "\n")
    print(f"{len(lines)} versions in constraints.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
