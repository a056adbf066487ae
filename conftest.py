"""What a test run needs before its first test is collected."""

import os
import shutil
import sys
from pathlib import Path

# Imported first, so that a folder of the checkout with the name of a package inside it
# (opgraph/src/opgraph) can never be taken for the package.
import opgraph  # noqa: F401

SITE_FOLDERS = ("accounts", "research_access", "workunits", "platform", "tests")
# On disk, and reachable for the account that PostgreSQL runs under when we are root.
RUNS = Path("/var/tmp")  # noqa: S108 - the folder in it is made by us and private
PREFIX = "gpugoblin-pytest-"


def _prepare_site() -> None:
    """Give Django a database of this run's own."""
    _remove_abandoned()
    folder = RUNS / f"{PREFIX}{os.getpid()}"
    # With no DATABASE_URL the first connection starts the embedded server in this folder.
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "gpugoblin_site.settings",
        "GOBLIN_STATE_DIR": str(folder / "site"),
        "GOBLIN_DATABASE_DIR": str(folder / "postgres"),
        "GOBLIN_DATABASE_DURABLE": "0",
        "GOBLIN_MAIL_AT_ONCE": "0",
        "LOG_LEVEL": "CRITICAL",
    }
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


# Now and not in a hook: the conftest files of the rooms, which import models, are loaded next.
if _tests_the_site(sys.argv[1:]):
    _prepare_site()
