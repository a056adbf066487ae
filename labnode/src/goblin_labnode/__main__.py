"""`goblin-lab`: the lab node's commands."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from goblin_labnode import __version__
from goblin_labnode.config import CONTROL_PORT, DATA_PORT, ConfigError, Folder
from goblin_wire.notice import version_text
from goblin_wire.problems import Problem
from goblin_wire.signin import SignInCode

DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 3, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Directory = Annotated[Path, typer.Argument(help="The lab node's folder.", metavar="DIR")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(version_text("goblin-lab", __version__))
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
    site: Annotated[str, typer.Option(metavar="URL", help="Address of the site.")],
    root: Annotated[
        list[str],
        typer.Option(metavar="NAME=PATH", help="A folder with data, and its name; repeatable."),
    ],
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="https://HOST:PORT", help="Where volunteers reach this lab node from outside."
        ),
    ] = None,
    data_host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where to listen for volunteers on this machine."),
    ] = None,
    data_port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port that volunteers reach.")
    ] = DATA_PORT,
    control_port: Annotated[
        int,
        typer.Option(metavar="PORT", min=0, max=65535, help="Port for Python on this machine."),
    ] = CONTROL_PORT,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="GOBLIN_LAB_TOKEN",
            help="The lab's token; without it you sign in.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set up a lab node: keys, certificate, settings. Run again to change settings."""
    from goblin_labnode import setup

    folder = Folder(directory.expanduser().absolute())
    wishes = setup.Wishes(
        site=setup.site_address(site),
        roots=setup.parse_roots(root),
        endpoint=endpoint,
        data_host=data_host,
        data_port=data_port,
        control_port=control_port,
    )
    setup.own_endpoint(wishes)  # what is wrong is told before anybody signs in
    config = setup.initialise(folder, wishes, token or setup.sign_in(wishes.site, _show_code))
    setup.remember_for_user(folder)
    if as_json:
        typer.echo(
            json.dumps({"lab": config.lab, "folder": str(folder.path), "endpoint": config.endpoint})
        )
        return
    typer.echo(
        f"Lab {config.lab} is set up in {folder.path}.\n"
        f"Volunteers will reach it at {config.endpoint}; they see the address of this machine, and"
        " it sees theirs.\n"
        f"Next: goblin-lab serve {folder.path}"
    )


@app.command()
def serve(
    directory: Directory,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
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
        width = max(len(each.check) for each in findings)
        for each in findings:
            typer.echo(f"{'ok' if each.ok else '!!'}  {each.check:<{width}}  {each.detail}")
    raise typer.Exit(DONE if healthy else FAILED)


def _show_code(code: SignInCode) -> None:
    minutes = max(1, round(code.expires_s / 60))
    typer.echo(
        f"Open {code.url}\nand confirm the code {code.user_code} (valid for {minutes} minutes).",
        err=True,
    )


def main() -> None:
    """Entry point: every failure is one sentence and an exit code."""
    from goblin_labnode.ports import PortTaken

    try:
        app()
    except Problem as problem:
        typer.echo(f"{problem.code}: {problem.detail}", err=True)
        sys.exit(REFUSED if problem.status in (401, 403, 422) else FAILED)
    except (ConfigError, PortTaken) as error:
        typer.echo(str(error), err=True)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
