#!/usr/bin/env python3
"""Create the virtual environment of a checkout: `tools/environment.py .venv`."""

import sys
import venv
from pathlib import Path

REQUIRED = (3, 11)


def main(folder: Path) -> int:
    """Create (or create anew) `folder`; 1 with a sentence when this Python does not fit."""
    if sys.version_info[:2] != REQUIRED:
        print(
            f"GPU Goblin needs Python 3.11, and {sys.executable} is "
            f"{sys.version_info.major}.{sys.version_info.minor}. Name one: make PYTHON=python3.11",
            file=sys.stderr,
        )
        return 1
    try:
        import ensurepip  # noqa: F401 - Debian ships it apart
    except ImportError:
        print("Python's venv module is incomplete: apt-get install python3-venv", file=sys.stderr)
        return 1
    print(f"Creating {folder} (once; about a minute with the packages) ...", file=sys.stderr)
    venv.EnvBuilder(clear=True, with_pip=True, symlinks=True).create(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
