"""What every program says for `--version`."""

from __future__ import annotations

LICENCE = (
    "Licence: PolyForm Noncommercial 1.0.0,"
    " https://polyformproject.org/licenses/noncommercial/1.0.0\n"
    "Required Notice: Copyright GPU Goblin (https://gpugoblin.com)"
)


def version_text(program: str, version: str) -> str:
    """The program with its version, the licence and the notice that it requires."""
    return f"{program} {version}\n{LICENCE}"
