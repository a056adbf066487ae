"""The catalogue of operators, and what a graph in a file is and costs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import opgraph
from opgraph import markdown
from opgraph.catalogue import CATALOGUE_VERSION, OPERATORS
from opgraph.catalogue.description import describe
from opgraph.cost import flops
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.validation import Limits

VERSION = (
    f"opgraph {opgraph.__version__}, catalogue {CATALOGUE_VERSION}\n"
    "Licence: PolyForm Noncommercial 1.0.0,"
    " https://polyformproject.org/licenses/noncommercial/1.0.0\n"
    "Required Notice: Copyright GPU Goblin (https://gpugoblin.com)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, or 1 where a graph is refused."""
    options = _parser().parse_args(arguments)
    if getattr(options, "markdown", False):
        print(markdown.catalogue(), end="")
        return 0
    try:
        found = options.describe(options)
    except GraphError as error:
        found = {"valid": False, "code": error.code, "detail": error.message}
    except OSError as error:
        found = {"valid": False, "code": "unreadable_file", "detail": str(error)}
    _print(found, options.json)
    return 0 if found.get("valid", True) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m opgraph", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--version", action="version", version=VERSION)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    listing = commands.add_parser("catalogue", parents=[shared], help="list the operators")
    listing.add_argument("--markdown", action="store_true", help="print docs/catalogue.md")
    listing.set_defaults(describe=lambda _options: _catalogue())
    for name, tell, summary in (
        ("check", _check, "say whether a file is a valid graph"),
        ("cost", _cost, "count its operations and its memory"),
    ):
        command = commands.add_parser(name, parents=[shared], help=summary)
        command.add_argument("file", type=Path)
        command.set_defaults(describe=tell)
    return parser


def _read(options: argparse.Namespace) -> Graph:
    limits = Limits()
    with options.file.open("rb") as file:
        return Graph.from_bytes(file.read(limits.file_bytes + 1), limits)


def _catalogue() -> dict[str, Any]:
    return {
        "catalogue": CATALOGUE_VERSION,
        "operators": [describe(each) for each in OPERATORS.values()],
    }


def _check(options: argparse.Namespace) -> dict[str, Any]:
    graph = _read(options)
    return {"valid": True, "id": graph.id, "nodes": len(graph.nodes)}


def _cost(options: argparse.Namespace) -> dict[str, Any]:
    graph = _read(options)
    return {
        "id": graph.id,
        "flops": flops(graph),
        "peak_bytes": peak_bytes(graph),
        "input_bytes": sum(each.type.nbytes for each in graph.placeholders),
        "output_bytes": sum(each.nbytes for each in graph.output_types),
    }


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    for each in found.pop("operators", ()):
        print(f"{each['signature']}\n    {each['summary']} [{each['family']}]")
        print(f"    dtypes: {'; '.join(each['dtypes'])}")
        print(f"    special values: {each['special_values']}")
        print(f"    flops: {each['flops']}; error: {each['error']}")
    for name, value in found.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    sys.exit(main())
