"""`gpugoblin`: jobs of a lab from the terminal."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gpugoblin
from goblin_wire.notice import version_text
from gpugoblin.doctor import examine
from gpugoblin.errors import (
    NotAllowed,
    Problem,
    QuotaExceeded,
    TokenInvalid,
    TokenMissing,
    WrongScope,
)
from gpugoblin.lab import Lab, connect

DONE, FAILED, USAGE, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130
_REFUSALS = (TokenInvalid, TokenMissing, WrongScope, NotAllowed, QuotaExceeded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Exit status: 0 done, 1 failed, 2 usage, 3 refused, 130 interrupted."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except Problem as problem:
        print(f"{problem.code}: {problem.detail}", file=sys.stderr)
        return REFUSED if isinstance(problem, _REFUSALS) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpugoblin", description=gpugoblin.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    version = version_text("gpugoblin", gpugoblin.__version__)
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(command=lambda _options: _help(parser))
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--lab", help="folder of the lab node, or URL (key: GPUGOBLIN_KEY)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, command, summary, takes_job in (
        ("jobs", _jobs, "list all jobs of the lab node", False),
        ("job", _job, "say what a job does and why", True),
        ("cancel", _cancel, "stop a job", True),
        ("doctor", _doctor, "look for what is in the way", False),
    ):
        sub = commands.add_parser(name, parents=[shared], help=summary)
        sub.set_defaults(command=command)
        if takes_job:
            sub.add_argument("job", metavar="JOB", help="name or id")
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return USAGE


def _jobs(options: argparse.Namespace) -> int:
    jobs = _lab(options).jobs()
    _print(jobs.to_list() if options.json else repr(jobs))
    return DONE


def _job(options: argparse.Namespace) -> int:
    job = _lab(options).job(options.job)
    if options.json:
        _print(job.report().to_dict() | {"why": job.why(), "progress": job.progress().text})
        return DONE
    _print(f"{job.why()}\n{job.progress().text}\n{job.report()}")
    return DONE


def _cancel(options: argparse.Namespace) -> int:
    job = _lab(options).job(options.job)
    cancelled = job.cancel()
    if options.json:
        _print({"job": job.id, "cancelled": cancelled, "state": job.state.value})
    else:
        _print(job.why() if cancelled else f"It had ended before: {job.why()}")
    return DONE if cancelled else FAILED


def _doctor(options: argparse.Namespace) -> int:
    findings = examine(options.lab)
    if options.json:
        _print([dataclasses.asdict(finding) for finding in findings])
    else:
        width = max(len(finding.subject) for finding in findings)
        _print(
            "\n".join(
                f"{'ok' if found.good else '!!'}  {found.subject:<{width}}  {found.sentence}"
                for found in findings
            )
        )
    return DONE if all(finding.good for finding in findings) else FAILED


def _lab(options: argparse.Namespace) -> Lab:
    return connect(options.lab)


def _print(what: Any) -> None:
    print(what if isinstance(what, str) else json.dumps(what, indent=2))


if __name__ == "__main__":
    sys.exit(main())
