"""Where a run's output goes, and how it gets its name without ever hiding another file."""

from __future__ import annotations

import os

from goblin_labnode import output as files
from goblin_labnode.output import Output
from goblin_labnode.requests import Request
from goblin_labnode.roots import Place, Roots
from goblin_labnode.storage import writing
from goblin_wire.problems import BadMessage, OutputExists, Problem

RESULTS = "@results"
"""The root of results in places that the lab node chose."""


def plan_output(request: Request, run: str, roots: Roots) -> Output:
    """The output of a run, not made yet. Raises `Problem` for a place that can't be used."""
    if request.out is None:
        place, own = Place(RESULTS, f"{run}.npy"), True
    else:
        place, own = roots.find_new(_with_ending(request.out)), False
    return Output(
        root=place.root, path=place.path, own=own, dtype=request.dtype, shape=request.shape
    )


def _with_ending(text: str) -> str:
    if text.rpartition("/")[2] in ("", ".", ".."):
        raise BadMessage(f"{text[:200]!r} names a folder; write the output's own name too.")
    return text if text.endswith(".npy") else f"{text}.npy"


def is_taken(output: Output, roots: Roots) -> bool:
    """Whether there is a file, or anything else, at the output's place."""
    return os.path.lexists(roots.full(output.place))


def create_draft(output: Output, run: str, roots: Roots) -> None:
    """Make the file under a name of the run's; device and inode are noted in `output`."""
    draft = _draft(output, run)
    if os.path.lexists(roots.full(draft.place)):
        roots.remove(draft.place)
    files.create(draft, roots)
    output.device, output.inode = draft.device, draft.inode


def settle(output: Output, run: str, roots: Roots) -> None:
    """Give the draft its own name, unless that was done before. Raises `OutputExists`.

    A link is made, not a rename: a file that is there already is never replaced.
    """
    draft = _draft(output, run)
    if not files.is_there(draft, roots):
        return
    if not files.is_there(output, roots):
        with writing("The output could not be made"):
            try:
                roots.link(draft.place, output.path.rpartition("/")[2])
            except FileExistsError:
                raise OutputExists(
                    f"{output.path!r} exists already; choose another name or remove it."
                ) from None
    roots.remove(draft.place)


def abandon(output: Output, run: str, roots: Roots) -> None:
    """Remove what was made of an output that is no result."""
    for each in (_draft(output, run), output):
        try:
            files.remove(each, roots)
        except (Problem, OSError):
            continue


def _draft(output: Output, run: str) -> Output:
    folder, _, name = output.path.rpartition("/")
    path = f".{name}.{run}"
    return Output(
        root=output.root,
        path=f"{folder}/{path}" if folder else path,
        own=output.own,
        dtype=output.dtype,
        shape=output.shape,
        device=output.device,
        inode=output.inode,
    )
