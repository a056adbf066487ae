"""What the standard has, and what of it is not compared, with a reason for each."""

from __future__ import annotations

from collections.abc import Mapping

import array_api_strict

from gpugoblin.arrays.left_out import ABSENT, REASONS
from tests.conformance.array_api.values import ALL

VERSION = "2024.12"

_OF_THE_LIBRARY = "a switch of array-api-strict, not of the standard"
_LATER = "came with the standard of 2025"
_TYPE = "an element type; dtypes of results are compared everywhere"
_OWN_TEST = "compared by itself in test_array_api.py"
_DLPACK = "its memory is what another library leaves there; asked of in sdk/tests"

NOT_ASKED: Mapping[str, str] = {
    **{name: reason for name, (reason, _) in REASONS.items()},
    **ABSENT,
    "ArrayAPIStrictFlags": _OF_THE_LIBRARY,
    "Device": _OF_THE_LIBRARY,
    "__array_api_version__": _OWN_TEST,
    "__array_namespace_info__": _OWN_TEST,
    "__version__": _OF_THE_LIBRARY,
    "get_array_api_strict_flags": _OF_THE_LIBRARY,
    "reset_array_api_strict_flags": _OF_THE_LIBRARY,
    "set_array_api_strict_flags": _OF_THE_LIBRARY,
    "broadcast_shapes": _LATER,
    "isin": _LATER,
    "linalg": "an extension, whose functions are asked one by one",
    "from_dlpack": _DLPACK,
    **dict.fromkeys(ALL, _TYPE),
}
"""Names of the standard (and of array-api-strict) that no question is asked about."""


def names() -> list[str]:
    """Every name of array-api-strict's namespace, those of the extension as `linalg.NAME`."""
    extension = (f"linalg.{each}" for each in array_api_strict.linalg.__all__)
    return sorted((*array_api_strict.__all__, *extension))
