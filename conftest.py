"""What a test run needs before its first test is collected."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

# Imported first, so that a folder of the checkout with the name of a package inside it
# (opgraph/src/opgraph) can never be taken for the package.
import opgraph  # noqa: F401

SITE_FOLDERS = ("accounts", "research_access", "workunits", "platform", "tests")
# What is started first where the tests run in several processes, because it takes longest; and the
# folders that one process runs whole, because all of their tests share one network.
LONG = ("tests/browser", "tests/faults", "tests/end_to_end", "opgraph/tests", "tests/adversaries")
SHARED = ("tests/browser", "tests/end_to_end", "tests/adversaries")
# On disk, and reachable for the account that PostgreSQL runs under when we are root.
RUNS = Path("/var/tmp")  # noqa: S108 - the folder in it is made by us and private
PREFIX = "gpugoblin-pytest-"
_of_this_run: dict[str, str] = {}


def _prepare_site() -> None:
    """Give Django a database of this run's own."""
    _remove_abandoned()
    folder = RUNS / f"{PREFIX}{os.getpid()}"
    # With no DATABASE_URL the first connection starts the embedded server in this folder.
    _of_this_run.update(
        {
            "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
            "GOBLIN_STATE_DIR": str(folder / "site"),
            "GOBLIN_DATABASE_DIR": str(folder / "postgres"),
            "GOBLIN_DATABASE_DURABLE": "0",
            "GOBLIN_MAIL_AT_ONCE": "0",
            "LOG_LEVEL": "CRITICAL",
        }
    )
    os.environ.update(_of_this_run)
    import django

    django.setup()


def _tests_the_site(arguments: list[str]) -> bool:
    """Whether this command line names a folder with Django in it, or none at all."""
    named = [Path(argument.partition("::")[0]) for argument in arguments]
    existing = [path for path in named if path.exists()]
    return not existing or any(_is_of_the_site(path) for path in existing)


def _is_of_the_site(path: Path) -> bool:
    root = Path(__file__).resolve().parent
    try:
        inside = path.resolve().relative_to(root)
    except ValueError:
        return False
    return not inside.parts or inside.parts[0] in SITE_FOLDERS


def _remove_abandoned() -> None:
    """Remove the folders of runs whose process is gone."""
    for folder in RUNS.glob(f"{PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(folder, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Processes that are started to run tests make their own site, not one of the first's."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        for name in _of_this_run:
            os.environ.pop(name, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process among several: what takes longest comes first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give out whole groups, in the order in which the processes have them."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False
    return ByGroup(config, log)


def _group(test: str) -> str:
    """Its folder where tests of a folder share a network, else its file."""
    shared = (folder for folder in SHARED if test.startswith(f"{folder}/"))
    return next(shared, test.partition("::")[0])


def _rank(test: str) -> int:
    ranks = (rank for rank, folder in enumerate(LONG) if test.startswith(f"{folder}/"))
    return next(ranks, len(LONG))


# Now and not in a hook: the conftest files of the rooms, which import models, are loaded next.
if _tests_the_site(sys.argv[1:]):
    _prepare_site()
