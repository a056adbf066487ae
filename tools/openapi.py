#!/usr/bin/env python3
"""Write docs/openapi/ from the code: `tools/openapi.py`; with `--check` only say what differs."""

import os
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "openapi"


def documents() -> dict[str, bytes]:
    """File name -> content, of the site and of both listeners of the lab node."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "gpugoblin_site.settings"
    import django

    from goblin_labnode import openapi as lab_node

    with tempfile.TemporaryDirectory() as state:
        os.environ["GOBLIN_STATE_DIR"] = state
        django.setup()
        from gpugoblin_site import openapi as site

        return {"site.yaml": site.document(), **lab_node.documents()}


def main(check: bool) -> int:
    """0, or 1 when `check` finds that a file is not what the code says."""
    differing = []
    for name, content in documents().items():
        path = FOLDER / name
        if not path.exists() or path.read_bytes() != content:
            differing.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    verb = "differs from the code (make openapi)" if check else "written"
    for name in differing:
        print(f"docs/openapi/{name} {verb}")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
