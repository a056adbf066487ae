#!/usr/bin/env python3
"""Run a command of the GPU Goblin site."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Hand the command line to Django; works from a plain checkout as well."""
    # Appended, not inserted: the standard library's `platform` must keep winning.
    sys.path.append(str(Path(__file__).resolve().parent / "platform"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpugoblin_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
