"""Lends this machine to verified research."""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import sys
from collections.abc import Sequence

from goblin_client import __version__
from goblin_client.errors import ClientError
from goblin_wire.notice import version_text

EXAMPLE = """\
to begin:
  goblin-client join --site https://SITE
  goblin-client run
"""
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_SIZE = 2**53 - 1
TOKEN_VARIABLE = "GOBLIN_VOLUNTEER_TOKEN"  # noqa: S105 - its name


def size(text: str) -> int:
    """Bytes: `1500000000`, `800M`, `4G`, `1.5GiB`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    value = int(float(match[1]) * UNITS[match[2]]) if match else 0
    if not 0 < value <= MAX_SIZE:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 800M or 4G")
    return value


def duration(text: str) -> float:
    """Seconds: `90`, `30m`, `8h`, `2d`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    value = float(match[1]) * TIMES[match[2] or "s"] if match else 0.0
    if not 0 < value <= 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 30m or 8h")
    return value


def threads(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1024):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads")
    return int(text)


def device(text: str) -> str:
    if not re.fullmatch(r"cpu|gpu\d{1,2}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not cpu, gpu0, gpu1, ...")
    return text


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="goblin-client", description=__doc__, epilog=EXAMPLE)
    top.add_argument(
        "--version", action="version", version=version_text("goblin-client", __version__)
    )
    top.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    state = argparse.ArgumentParser(add_help=False)
    state.add_argument("--state", metavar="DIR", help="state directory (default: the user's)")
    _add_join(commands.add_parser("join", parents=[state], help="become a volunteer of a site"))
    _add_run(commands.add_parser("run", parents=[state], help="compute until stopped"))
    status = commands.add_parser("status", parents=[state], help="show machine, units, refusals")
    status.add_argument("--json", action="store_true", help="one JSON object")
    status.add_argument("--offline", action="store_true", help="do not ask the site")
    pause = commands.add_parser("pause", parents=[state], help="stop computing for now")
    pause.add_argument(
        "--for",
        dest="duration",
        type=duration,
        metavar="TIME",
        help="how long, e.g. 30m or 8h (default: until resume)",
    )
    commands.add_parser("resume", parents=[state], help="go on computing")
    commands.add_parser("leave", parents=[state], help="hand back, sign off, delete the state")
    return top


def _add_join(join: argparse.ArgumentParser) -> None:
    join.add_argument("--site", required=True, metavar="URL", help="address of the site")
    join.add_argument(
        "--token",
        default=os.environ.get(TOKEN_VARIABLE),
        help=f"a volunteer's token (default: {TOKEN_VARIABLE}, which other users of the machine"
        " cannot see, else sign in by a code)",
    )
    join.add_argument(
        "--label",
        default="",
        help="how you call this machine; no lab and no other volunteer sees it",
    )


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--memory",
        type=size,
        metavar="BYTES",
        help="memory for a unit, e.g. 2G (default: half of this machine's)",
    )
    run.add_argument(
        "--threads", type=threads, default=1, metavar="N", help="processor threads (default: 1)"
    )
    run.add_argument(
        "--cache",
        type=size,
        metavar="BYTES",
        help="disk for inputs that may be needed again (default: 10G)",
    )
    run.add_argument(
        "--device",
        action="append",
        type=device,
        metavar="cpu|gpu0",
        help="device to use; may be repeated (default: cpu)",
    )
    run.add_argument(
        "--allow-private", action="store_true", help="accept labs at loopback and private addresses"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    arguments = parser().parse_args(argv)
    if arguments.command is None:
        parser().print_help(sys.stderr)
        return 2
    # Only the computing processes calculate; here BLAS would start threads for nothing.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        # Loaded late: a wrong argument should be told at once.
        from goblin_client import commands

        return int(getattr(commands, arguments.command)(arguments))
    except ClientError as error:
        sys.stderr.write(f"goblin-client: {error}\n")
        return error.status
    except KeyboardInterrupt:
        return 130
    except (OSError, sqlite3.Error) as error:
        sys.stderr.write(f"goblin-client: the state directory cannot be used: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
