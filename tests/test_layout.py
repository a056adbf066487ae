"""The packaging rules that a stray file would break silently."""

import ast
import email
import importlib.metadata
import itertools
import platform
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "client": "goblin_client",
    "labnode": "goblin_labnode",
    "opgraph": "opgraph",
    "sdk": "gpugoblin",
    "wire": "goblin_wire",
}
SITE_PACKAGES = ("accounts", "gpugoblin_site", "research_access", "workunits")
SITE = ("accounts", "platform", "research_access", "workunits")
# Of an extra of wire that the room asks for, or there only on machines with a GPU.
OPTIONAL = {"cryptography", "cupy"}
NOTICE = "Required Notice: Copyright GPU Goblin (https://gpugoblin.com)"


def project(folder: Path) -> dict[str, Any]:
    description: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return description


def requirements(description: dict[str, Any]) -> Iterator[str]:
    """The names of all distributions that a project asks for, its extras included."""
    extras = description.get("optional-dependencies", {})
    for requirement in [*description["dependencies"], *itertools.chain(*extras.values())]:
        yield re.split(r"[\[<>=~!; ]", requirement)[0]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imports(path: Path) -> Iterator[str]:
    """The top-level modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_the_source_root_platform_is_no_package() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_python_finds_its_own_platform_module_from_the_root() -> None:
    code = "import platform; print(platform.__file__); platform.system()"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert Path(found.strip()).parent == Path(sysconfig.get_path("stdlib"))
    assert Path(platform.__file__).parent == Path(sysconfig.get_path("stdlib"))


@pytest.mark.parametrize("room", [".", *ROOMS])
def test_every_package_carries_the_licence(room: str) -> None:
    text = (ROOT / room / "LICENSE").read_text()
    assert text == (ROOT / "LICENSE").read_text()
    assert text.startswith("# PolyForm Noncommercial License 1.0.0")
    assert NOTICE in text
    assert project(ROOT / room)["license"] == "PolyForm-Noncommercial-1.0.0"


@pytest.mark.parametrize(("room", "package"), ROOMS.items())
def test_every_library_is_typed_and_has_a_version(room: str, package: str) -> None:
    assert (ROOT / room / "src" / package / "py.typed").is_file()
    assert "__version__" in (ROOT / room / "src" / package / "__init__.py").read_text()


def test_a_volunteer_gets_neither_django_nor_a_database_driver() -> None:
    wanted = " ".join(str(project(ROOT / room)["dependencies"]) for room in ROOMS).lower()
    assert not [name for name in ("django", "psycopg", "pgserver", "torch") if name in wanted]


@pytest.mark.parametrize("room", [".", *ROOMS])
def test_what_is_imported_is_declared(room: str) -> None:
    folders = SITE if room == "." else (f"{room}/src",)
    ours = {*SITE_PACKAGES, *ROOMS.values()}
    imported = {
        name
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "tests" not in path.parts
        for name in imports(path)
        if name not in sys.stdlib_module_names and name not in ours
    }
    distributions = importlib.metadata.packages_distributions()
    description = project(ROOT / room)
    declared = {normal(name) for name in requirements(description)} | OPTIONAL
    missing = {
        name
        for name in imported
        if not {normal(each) for each in distributions.get(name, [name])} & declared
    }
    assert not missing


@pytest.mark.parametrize("room", [".", *ROOMS])
def test_the_wheel_has_the_code_and_the_licence_only(room: str, tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"),
            *("--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)),
            str(ROOT / room),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = email.message_from_bytes(archive.read(metadata))
    assert headers["License-Expression"] == "PolyForm-Noncommercial-1.0.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if "tests/" in name or name.startswith("platform/")]
    package = ROOMS.get(room, "gpugoblin_site")
    assert f"{package}/__init__.py" in names


@pytest.mark.parametrize("module", ["goblin_client", "goblin_labnode", "gpugoblin", "opgraph"])
def test_version_names_the_licence(module: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", module, "--version"], check=True, capture_output=True, text=True
    ).stdout
    first, *notice = said.splitlines()
    assert "0.1.0" in first
    licence = "https://polyformproject.org/licenses/noncommercial/1.0.0"
    assert notice == [
        f"Licence: PolyForm Noncommercial 1.0.0, {licence}",
        "Required Notice: Copyright GPU Goblin (https://gpugoblin.com)",
    ]


def test_rooms_import_only_what_they_may() -> None:
    checked = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_lock_pins_every_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {normal(line.partition("==")[0]) for line in lines if "==" in line}
    wanted = {normal(name) for room in [".", *ROOMS] for name in requirements(project(ROOT / room))}
    ours_or_gpu = {name for name in wanted if name.startswith(("gpugoblin", "cupy-", "nvidia-"))}
    # `torch` is pinned by its own extra and no part of the environment that is locked.
    assert not wanted - ours_or_gpu - pinned - {"torch"}
