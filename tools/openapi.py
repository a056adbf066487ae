"""Write the OpenAPI descriptions of the servers into docs/openapi/; `make openapi` calls it."""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "openapi"


def main() -> None:
    """Write each description whose content has changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _write("site.yaml", _site())
    for name, content in _lab_node().items():
        _write(name, content)


def _site() -> bytes:
    sys.path.append(str(ROOT / "platform"))
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as state:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
            "GOBLIN_STATE_DIR": state,
        }
        import django

        django.setup()
        from gpugoblin_site import openapi

        return openapi.document()


def _lab_node() -> dict[str, bytes]:
    from goblin_labnode import openapi

    return openapi.documents()


def _write(name: str, content: bytes) -> None:
    path = FOLDER / name
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
