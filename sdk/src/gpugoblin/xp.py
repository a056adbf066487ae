"""The Array API 2024.12 over lazy arrays: `from gpugoblin import xp`.

Functions build a graph and check shapes and types at your line; numbers are made by `.compute()`.
What works, what is left out and why is in `docs/arrays.md`.
"""

from __future__ import annotations

import math as _math

from gpugoblin.arrays import linalg as linalg
from gpugoblin.arrays.contractions import *  # noqa: F403
from gpugoblin.arrays.creation import *  # noqa: F403
from gpugoblin.arrays.data_types import *  # noqa: F403
from gpugoblin.arrays.dtypes import bfloat16 as bfloat16
from gpugoblin.arrays.dtypes import by_name as _by_name
from gpugoblin.arrays.einsum import einsum as einsum
from gpugoblin.arrays.elementwise import *  # noqa: F403
from gpugoblin.arrays.indexing import *  # noqa: F403
from gpugoblin.arrays.inspection import __array_namespace_info__ as __array_namespace_info__
from gpugoblin.arrays.left_out import *  # noqa: F403
from gpugoblin.arrays.left_out import ABSENT as _ABSENT
from gpugoblin.arrays.manipulation import *  # noqa: F403
from gpugoblin.arrays.products import *  # noqa: F403
from gpugoblin.arrays.searching import *  # noqa: F403
from gpugoblin.arrays.statistics import *  # noqa: F403

__array_api_version__ = "2024.12"

bool = _by_name("bool")  # noqa: A001
int8, int16, int32, int64 = map(_by_name, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(_by_name, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(_by_name, ("float16", "float32", "float64"))

e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None


def __getattr__(name: str) -> object:
    """Says why a name of the standard is not there. Raises AttributeError."""
    reason = f"; it is left out: {_ABSENT[name]}." if name in _ABSENT else "."
    raise AttributeError(f"gpugoblin.xp has no {name!r}{reason}")
