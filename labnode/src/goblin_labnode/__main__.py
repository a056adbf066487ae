"""`goblin-lab`: the lab node's commands."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from goblin_labnode import __version__
from goblin_labnode.config import CONTROL_PORT, DATA_PORT, ConfigError, Folder
from goblin_wire.problems import Problem
from goblin_wire.signin import SignInCode

DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 3, 130
NOTICE = "PolyForm Noncommercial 1.0.0. Copyright GPU Goblin (https://gpugoblin.com)"

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
console = Console()
errors = Console(stderr=True)

Directory = Annotated[Path, typer.Argument(help="The lab node's folder.", metavar="DIR")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"goblin-lab {__version__}\nLicence: {NOTICE}")
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The lab node of GPU Goblin: keeps the data, plans, serves, verifies every result."""


@app.command()
def init(
    directory: Directory,
    site: Annotated[str, typer.Option(help="Address of the site.")],
    root: Annotated[list[str], typer.Option(help="NAME=PATH of a folder with data; repeatable.")],
    endpoint: Annotated[
        str | None, typer.Option(help="Where volunteers reach the data listener: https://HOST:PORT")
    ] = None,
    data_host: Annotated[
        str | None, typer.Option(help="Address on which the data listener listens.")
    ] = None,
    data_port: Annotated[int, typer.Option(min=0, max=65535)] = DATA_PORT,
    control_port: Annotated[int, typer.Option(min=0, max=65535)] = CONTROL_PORT,
    token: Annotated[
        str | None, typer.Option(envvar="GOBLIN_LAB_TOKEN", help="The lab's token at the site.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set up a lab node: keys, certificate, settings. Run again to change settings."""
    from goblin_labnode import setup

    folder = Folder(directory.expanduser().absolute())
    wishes = setup.Wishes(
        site=site.rstrip("/"),
        roots=setup.parse_roots(root),
        endpoint=endpoint,
        data_host=data_host,
        data_port=data_port,
        control_port=control_port,
    )
    config = setup.initialise(folder, wishes, token or setup.sign_in(wishes.site, _show_code))
    setup.remember_for_user(folder)
    if as_json:
        typer.echo(
            json.dumps({"lab": config.lab, "folder": str(folder.path), "endpoint": config.endpoint})
        )
        return
    console.print(f"Lab {config.lab} is set up in {folder.path}.", highlight=False)
    console.print(
        f"Volunteers will reach it at {config.endpoint}. In direct mode they see the"
        " address of this machine, and it sees theirs.",
        highlight=False,
    )
    console.print(f"Next: goblin-lab serve {folder.path}", highlight=False)


@app.command()
def serve(
    directory: Directory,
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False,
) -> None:
    """Run the lab node until Ctrl-C."""
    from goblin_labnode.serving import serve as run

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    for chatty in ("urllib3", "uvicorn", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    folder = Folder(directory.expanduser().absolute())
    run(folder, folder.load())


@app.command()
def doctor(directory: Directory, as_json: AsJson = False) -> None:
    """Say what works and what does not, and what to do."""
    from goblin_labnode.doctor import examine

    folder = Folder(directory.expanduser().absolute())
    findings = list(examine(folder, folder.load()))
    healthy = all(finding.ok for finding in findings)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "ok": healthy,
                    "checks": [
                        {"check": each.check, "ok": each.ok, "detail": each.detail}
                        for each in findings
                    ],
                }
            )
        )
    else:
        table = Table(show_header=False, box=None)
        for each in findings:
            table.add_row("ok" if each.ok else "[bold red]no[/]", each.check, each.detail)
        console.print(table)
    raise typer.Exit(DONE if healthy else FAILED)


def _show_code(code: SignInCode) -> None:
    errors.print(
        f"Open {code.url}\nand confirm the code [bold]{code.user_code}[/].", highlight=False
    )


def main() -> None:
    """Entry point: every failure is one sentence and an exit code."""
    from goblin_labnode.ports import PortTaken

    try:
        app()
    except Problem as problem:
        errors.print(f"{problem.code}: {problem.detail}", highlight=False, markup=False)
        sys.exit(REFUSED if problem.status in (401, 403, 422) else FAILED)
    except (ConfigError, PortTaken) as error:
        errors.print(str(error), highlight=False, markup=False)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
