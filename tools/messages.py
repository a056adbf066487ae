#!/usr/bin/env python3
"""Catalogues of messages, without the gettext programs.

    python tools/messages.py extract [ROOM]   # sources -> .po; translations are kept
    python tools/messages.py compile [ROOM]   # .po -> .mo
    python tools/messages.py check [ROOM]     # nothing missing, empty, fuzzy or stale

Every room has its own catalogue. A message that no source names any more becomes obsolete (`#~`)
and comes back with its translation if a source names it again. A message of another package that
we translate carries the comment `# elsewhere: PACKAGE` and stays whatever the sources say.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polib
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("vi",)
ELSEWHERE = "elsewhere:"
_METADATA = {
    "Language": "vi",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Plural-Forms": "nplurals=1; plural=0;",
}


class Room(NamedTuple):
    """Where a room's sources and its catalogue are; paths from the root, the longest match owns."""

    sources: tuple[str, ...]
    locale: str


ROOMS = {
    "accounts": Room(
        ("accounts", "templates/accounts", "templates/account", "templates/mfa"), "accounts/locale"
    ),
    "research_access": Room(
        ("research_access", "templates/research_access", "templates/admin/research_access"),
        "research_access/locale",
    ),
    "workunits": Room(
        ("workunits", "templates/workunits", "templates/admin/workunits"), "workunits/locale"
    ),
    "mail": Room(
        ("platform/gpugoblin_site/mail", "templates/mail", "templates/admin/gpugoblin_site"),
        "platform/gpugoblin_site/mail/locale",
    ),
    "platform": Room(("platform/gpugoblin_site", "templates"), "locale"),
}
# function: (position of the context, of the message, of the plural)
_SHAPES: dict[str, tuple[int | None, int, int | None]] = {
    "gettext": (None, 0, None),
    "ngettext": (None, 0, 1),
    "pgettext": (0, 1, None),
    "npgettext": (0, 1, 2),
}
_FUNCTIONS = {"_": _SHAPES["gettext"]} | {
    name + ending: shape for name, shape in _SHAPES.items() for ending in ("", "_lazy", "_noop")
}
_LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_IN_TEMPLATE = re.compile(rf"\b(n?p?gettext|_)\(((?:{_LITERAL}(?:,\s*)?)+)")
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}|%[sd]")
_TAG = re.compile(r"</?\w+")


class Message(NamedTuple):
    """What a source wants translated."""

    context: str | None
    text: str
    plural: str | None


class NotConstant(Exception):
    """A source asks for the translation of something that is known only when it runs."""


def sources(room: str) -> list[Path]:
    """The Python files and templates whose messages belong to a room, in order."""
    found: set[Path] = set()
    for folder in ROOMS[room].sources:
        top = ROOT / folder
        found |= {path for path in top.rglob("*.py") if not _is_aside(path.relative_to(top))}
        found |= {path for ending in ("html", "txt") for path in _templates(top, ending)}
    return sorted(path for path in found if _owner(path) == room)


def _templates(top: Path, ending: str) -> Iterator[Path]:
    return (
        path for path in top.rglob(f"*.{ending}") if "templates" in path.relative_to(ROOT).parts
    )


def _is_aside(path: Path) -> bool:
    return bool({"tests", "migrations"} & set(path.parts))


def _owner(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    claims = [
        (len(source), room)
        for room, about in ROOMS.items()
        for source in about.sources
        if name.startswith(f"{source}/")
    ]
    return max(claims)[1]


def messages_of(path: Path) -> Iterator[Message]:
    """The messages that one file names; `NotConstant` for a message that is no literal."""
    text = path.read_text(encoding="utf-8")
    return _of_python(text, path) if path.suffix == ".py" else _of_template(text, path)


def _of_python(text: str, path: Path) -> Iterator[Message]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _FUNCTIONS:
            given = [_constant(argument) for argument in node.args]
            yield _message(name, given, f"{path.relative_to(ROOT)}:{node.lineno}")


def _constant(node: ast.expr) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _of_template(text: str, path: Path) -> Iterator[Message]:
    if not settings.configured:
        settings.configure()
    for call in _IN_TEMPLATE.finditer(templatize(text, str(path))):
        literals = re.findall(_LITERAL, call[2])
        yield _message(call[1], [ast.literal_eval(one) for one in literals], str(path))


def _message(function: str, given: list[str | None], where: str) -> Message:
    context, text, plural = (
        given[at] if at is not None and at < len(given) else None for at in _FUNCTIONS[function]
    )
    if not text:
        raise NotConstant(f"{where}: {function}() is not given the text itself")
    return Message(context, text, plural)


def wanted(room: str) -> dict[Message, list[str]]:
    """Every message of a room with the files that name it."""
    found: dict[Message, list[str]] = {}
    for path in sources(room):
        name = path.relative_to(ROOT).as_posix()
        for message in messages_of(path):
            places = found.setdefault(message, [])
            if name not in places:
                places.append(name)
    return found


def catalogue_path(room: str, language: str = LANGUAGES[0]) -> Path:
    """Where the .po file of a room is."""
    return ROOT / ROOMS[room].locale / language / "LC_MESSAGES" / "django.po"


def catalogue(room: str) -> polib.POFile:
    """The catalogue of a room as it is on disk; an empty one if there is none."""
    path = catalogue_path(room)
    return polib.pofile(str(path), wrapwidth=100) if path.exists() else polib.POFile(wrapwidth=100)


def extract(room: str) -> list[str]:
    """Write the catalogue anew from the sources."""
    old: dict[tuple[str | None, str], polib.POEntry] = {
        (entry.msgctxt, entry.msgid): entry for entry in catalogue(room)
    }
    new = polib.POFile(wrapwidth=100)
    new.metadata = _METADATA
    for message, places in wanted(room).items():
        entry = old.pop((message.context, message.text), None)
        new.append(_entry(message, places, entry))
    for entry in old.values():
        entry.obsolete = not entry.tcomment.startswith(ELSEWHERE)
        entry.occurrences = []
        if entry.msgstr or entry.msgstr_plural:
            new.append(entry)
    path = catalogue_path(room)
    path.parent.mkdir(parents=True, exist_ok=True)
    new.save(str(path), newline="\n")
    open_ones = sum(not entry.translated() and not entry.obsolete for entry in new)
    return [f"{room}: {len(new)} messages, {open_ones} to translate ({path.relative_to(ROOT)})"]


def _entry(message: Message, places: list[str], old: polib.POEntry | None) -> polib.POEntry:
    entry = polib.POEntry(msgid=message.text, msgctxt=message.context)
    entry.occurrences = [(place, "") for place in places]
    if message.plural is not None:
        entry.msgid_plural = message.plural
        entry.msgstr_plural = (old.msgstr_plural if old else None) or {0: ""}
    else:
        entry.msgstr = old.msgstr if old else ""
    if old is not None:
        entry.tcomment, entry.flags = old.tcomment, old.flags
    return entry


def compile_room(room: str) -> list[str]:
    """Write the .mo file beside the .po file."""
    target = catalogue_path(room).with_suffix(".mo")
    if not catalogue_path(room).exists():
        return []
    target.write_bytes(catalogue(room).to_binary())
    return [f"{room}: {target.relative_to(ROOT)}"]


def check(room: str) -> list[str]:
    """What is wrong with a room's catalogue, a line each."""
    entries = [entry for entry in catalogue(room) if not entry.obsolete]
    known = {(entry.msgctxt, entry.msgid, entry.msgid_plural or None) for entry in entries}
    wrong = [
        f"not in the catalogue, run `extract`: {message.text!r} ({places[0]})"
        for message, places in wanted(room).items()
        if message not in known
    ]
    wrong += [line for entry in entries for line in faults_of(entry)]
    path = catalogue_path(room).with_suffix(".mo")
    if path.with_suffix(".po").exists() and not _is_fresh(path, catalogue(room)):
        wrong.append("the .mo file is not that of the .po file, run `compile`")
    return [f"{room}: {line}" for line in wrong]


def _is_fresh(path: Path, source: polib.POFile) -> bool:
    return path.exists() and path.read_bytes() == source.to_binary()


def faults_of(entry: polib.POEntry) -> list[str]:
    """What is wrong with one message: empty, fuzzy, other placeholders or tags than the source."""
    if entry.fuzzy:
        return [f"fuzzy: {entry.msgid!r}"]
    if not entry.translated():
        return [f"not translated: {entry.msgid!r}"]
    source = entry.msgid_plural or entry.msgid
    faults = []
    for text in entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]:
        for what, pattern in (("placeholders", _PLACEHOLDER), ("tags", _TAG)):
            if sorted(set(pattern.findall(source))) != sorted(set(pattern.findall(text))):
                faults.append(f"other {what} than the source: {text!r}")
    return faults


def quarrels(rooms: list[str]) -> list[str]:
    """Messages that two rooms translate differently: at run time only one of them would win."""
    said: dict[tuple[str | None, str], tuple[str, str]] = {}
    lines = []
    for room in rooms:
        for entry in catalogue(room):
            text = entry.msgstr or str(entry.msgstr_plural)
            if entry.obsolete or not entry.translated():
                continue
            other, before = said.setdefault((entry.msgctxt, entry.msgid), (room, text))
            if before != text:
                lines.append(f"{room}: {entry.msgid!r} is {text!r}, in {other} {before!r}")
    return lines


def main(arguments: list[str]) -> int:
    """0, or 1 when `check` finds something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("extract", "compile", "check"))
    parser.add_argument("room", nargs="?", choices=sorted(ROOMS))
    chosen = parser.parse_args(arguments)
    rooms = [chosen.room] if chosen.room else list(ROOMS)
    work = {"extract": extract, "compile": compile_room, "check": check}[chosen.what]
    lines = [line for room in rooms for line in work(room)]
    if chosen.what == "check":
        lines += quarrels(list(ROOMS))
    print("\n".join(lines) or "nothing to say")
    return 1 if chosen.what == "check" and lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
