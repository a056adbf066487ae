"""The browser of the tests: the system's Chromium, and what to say where there is none."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "GOBLIN_BROWSER_REQUIRED"
"""Set to 1 (as .ci/run does), a missing browser is a failure."""
MISSING = (
    "NO BROWSER TEST RAN: there is no Chromium here. `apt-get install chromium` brings it;"
    f" with {REQUIRED}=1 this is a failure."
)
ARGUMENTS = (
    "--no-sandbox",  # as root, which continuous integration is
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing but this machine
    "--disable-gpu",
    "--disable-dev-shm-usage",
)


def executable() -> Path | None:
    """Where Chromium is, if it is."""
    found = (shutil.which(name) for name in NAMES)
    return next((Path(path) for path in found if path), None)


def required() -> bool:
    """Whether a missing browser is a failure."""
    return os.environ.get(REQUIRED, "") not in ("", "0")


def launch(playwright: Playwright) -> Browser:
    """Start it, without a window; FileNotFoundError where there is none."""
    path = executable()
    if path is None:
        raise FileNotFoundError(MISSING)
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
