"""What the namespace says of itself."""

from __future__ import annotations

from typing import Any

from gpugoblin.arrays.building import LIMITS
from gpugoblin.arrays.creation import DEVICE, check_device
from gpugoblin.arrays.dtypes import KINDS, Dtype, by_name
from gpugoblin.errors import BadArgument

_STANDARD = (*KINDS["bool"], *KINDS["integral"], "float32", "float64")


class NamespaceInfo:
    """Devices, element types and capabilities, as the standard asks for them."""

    def capabilities(self) -> dict[str, Any]:
        """What is left out: masks for reading, shapes that depend on numbers; at most 16 axes."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": LIMITS.rank,
        }

    def default_device(self) -> str:
        """`here`: this process."""
        return DEVICE

    def devices(self) -> list[str]:
        """Where arrays are made: this process."""
        return [DEVICE]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Dtype]:
        """The element types of what has no other. There are no complex ones."""
        check_device(device)
        return {
            "real floating": by_name("float64"),
            "integral": by_name("int64"),
            "indexing": by_name("int64"),
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Dtype]:
        """The standard's element types that are here, of a kind or of several."""
        check_device(device)
        kinds = tuple(KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in KINDS]
        if unknown:
            raise BadArgument(f"{unknown[0]!r} is no kind of dtypes: {', '.join(KINDS)}.")
        names = {name for each in kinds for name in KINDS[each]}
        return {name: by_name(name) for name in _STANDARD if name in names}


def __array_namespace_info__() -> NamespaceInfo:
    """What the namespace says of itself."""
    return NamespaceInfo()
