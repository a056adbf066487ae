"""No code or pickle from elsewhere ever runs: nothing in the sources could do it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = [
    "wire/src", "opgraph/src", "client/src", "labnode/src", "sdk/src",
    "platform", "accounts", "research_access", "workunits",
]  # fmt: skip
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "numexpr"}
CALLS = {"eval", "exec", "compile", "__import__"}


def sources() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if not {"tests", "migrations"} & set(path.parts):
                yield path


def suspicions(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.module or ""
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield node.func.id
            yield from (
                "allow_pickle"
                for keyword in node.keywords
                if keyword.arg == "allow_pickle"
                and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
            )


def test_row_32_nothing_is_unpickled_or_evaluated() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {what}"
        for path in sources()
        for what in suspicions(ast.parse(path.read_text()))
    }
    assert found == set()


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "exec(code)",
        "numpy.load(path, allow_pickle=True)",
        "numpy.load(path, allow_pickle=flag)",
        "import dill.source",
    ],
)
def test_the_search_finds_what_it_looks_for(text: str) -> None:
    assert list(suspicions(ast.parse(text)))
