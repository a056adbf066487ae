"""What cupy's functions take, kept as a table, so that calls can be checked where no cupy is.

    python -m tests.gpu.signatures      writes the table from the cupy of this environment

No GPU is needed for that: cupy can be imported without one.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("cupy_signatures.json")
MODULES = {"": "cupy", "linalg.": "cupy.linalg", "lib.stride_tricks.": "cupy.lib.stride_tricks"}

# What `cupy.ufunc.__call__` takes by name: its documentation names the first two, `casting` is as
# numpy's. There is no `where`, `order`, `subok` or `signature`.
UFUNC_OPTIONS = frozenset(("out", "dtype", "casting"))

Parameters = list[tuple[str, str, bool]]
"""Name, kind, and whether there is a default."""


def collect() -> dict[str, Any]:
    """The table of the installed cupy."""
    import cupy  # type: ignore[import-not-found]

    functions, ufuncs, types = {}, {}, []
    for prefix, module_name in MODULES.items():
        module = sys.modules.get(module_name) or __import__(module_name, fromlist=["x"])
        for name in sorted(each for each in dir(module) if not each.startswith("_")):
            found = getattr(module, name)
            if isinstance(found, cupy.ufunc):
                ufuncs[prefix + name] = {"nin": found.nin, "types": list(found.types)}
            elif isinstance(found, type):
                types.append(prefix + name)
            elif callable(found) and (parameters := _parameters(found)) is not None:
                functions[prefix + name] = parameters
    return {
        "cupy": cupy.__version__,
        "functions": functions,
        "methods": _methods(cupy.ndarray),
        "attributes": _attributes(cupy.ndarray),
        "types": types,
        "ufunc_methods": [each for each in dir(cupy.ufunc) if not each.startswith("_")],
        "ufuncs": ufuncs,
    }


def _parameters(function: Callable[..., Any]) -> Parameters | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return _documented(function)
    return [
        (each.name, each.kind.name, each.default is not each.empty)
        for each in signature.parameters.values()
    ]


def _documented(function: Callable[..., Any]) -> Parameters | None:
    """The same from the first line of the documentation, as Cython writes it."""
    first = (function.__doc__ or "").strip().partition("\n")[0]
    found = re.search(r"\((.*)\)", first)
    if not found or not re.fullmatch(r"[\w.]+\(.*\)( ?->.*)?", first):
        return None
    text = re.sub(r"\b(?:Py_ssize_t|int|bint|str|tuple|list|object) (?=\w)", "", found[1])
    try:
        (node,) = ast.parse(f"def f({text}): pass").body
    except SyntaxError:
        return None
    return _written(node.args) if isinstance(node, ast.FunctionDef) else None


def _written(arguments: ast.arguments) -> Parameters:
    names = [each.arg for each in arguments.args]
    required = len(names) - len(arguments.defaults)
    found = [(name, "POSITIONAL_OR_KEYWORD", place >= required) for place, name in enumerate(names)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "VAR_POSITIONAL", False))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((each.arg, "KEYWORD_ONLY", default is not None))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "VAR_KEYWORD", False))
    return found


def _methods(array: type) -> dict[str, Parameters]:
    found = {}
    for name in sorted(each for each in dir(array) if not each.startswith("_")):
        member = getattr(array, name)
        if callable(member) and (parameters := _parameters(member)) is not None:
            found[name] = [each for each in parameters if each[0] != "self"]
    return found


def _attributes(array: type) -> list[str]:
    return [n for n in dir(array) if not n.startswith("_") and not callable(getattr(array, n))]


@cache
def table() -> Mapping[str, Any]:
    """The table that is kept."""
    return json.loads(TABLE.read_text())


def bind(parameters: Parameters, what: str, args: tuple[Any, ...], options: Any) -> None:
    """Raise TypeError unless cupy's function takes these arguments."""
    made = inspect.Signature([
        inspect.Parameter(
            name,
            getattr(inspect.Parameter, kind),
            default=None if has_default else inspect.Parameter.empty,
        )
        for name, kind, has_default in parameters
    ])  # fmt: skip
    try:
        made.bind(*args, **options)
    except TypeError as error:
        raise TypeError(f"cupy.{what}: {error}") from None


def as_json(value: Any) -> Any:
    """A part of a table as it is read back."""
    return json.loads(json.dumps(value))


def main() -> int:
    """Write the table."""
    found = collect()
    TABLE.write_text(json.dumps(found, indent=None, sort_keys=True) + "\n")
    counts = ", ".join(f"{len(found[each])} {each}" for each in ("functions", "ufuncs", "methods"))
    print(f"cupy {found['cupy']}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
