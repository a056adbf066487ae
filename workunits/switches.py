"""Switches: nothing new is leased to a machine, an account or a client version, from a lab, or at
all.

Who is concerned reads why with the next poll: the statements that an exchange and a lab's poll run
anyway look here, so a switch costs no query and no time of its own to come into force. Leases in
hand may finish: they are renewed, reported, verified and credited as ever.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import Account
from accounts.text import clean_name
from goblin_wire.problems import BadMessage, Conflict, NotAllowed
from workunits.models import Host, Switch, SwitchKind, SwitchMove
from workunits.models.switches import OF_A_ROW

CODE = "switched_off"
"""The notice's code, for programs."""
ON_PERMISSION = "workunits.add_switch"
OFF_PERMISSION = "workunits.delete_switch"
MAX_SENTENCE = 500
MAX_REASON = 1000
MOST = 200
"""Switches that may be on at once, since every exchange looks at them."""

_WORDS = """CASE WHEN p.language = 'vi' THEN w.sentence_vi ELSE w.sentence_en END AS sentence
  FROM workunits_switch w LEFT JOIN accounts_person p ON p.account_id = {account}"""

# CASE, so that the few switches are walked over in the order of their ids: to look each kind up in
# an index, and to sort what was found, costs five times as much where there are none.
OF_HOST = f"""LEFT JOIN LATERAL (
  SELECT {_WORDS.format(account="h.account_id")}
  WHERE CASE w.kind WHEN 'everything' THEN true
                    WHEN 'account' THEN w.target = h.account_id
                    WHEN 'host' THEN w.target = h.id
                    WHEN 'version' THEN w.version = %(version)s ELSE false END
  ORDER BY w.id LIMIT 1) w ON true"""
"""Joins `w.sentence` to a host `h` whose client says `version`; NULL where nothing is off."""


def of_lab(lab: str, account: str) -> str:
    """Joins `w.sentence` to the lab whose id stands in the column `lab`.

    `account`: an expression for the id of the account in whose language it is.
    """
    return f"""LEFT JOIN LATERAL (
  SELECT {_WORDS.format(account=account)}
  WHERE CASE w.kind WHEN 'everything' THEN true WHEN 'lab' THEN w.target = {lab} ELSE false END
  ORDER BY w.id LIMIT 1) w ON true"""


def lab_is_on(lab: str) -> str:
    """A condition: the lab whose id stands in the column `lab` is not switched off."""
    # An array, found once: as a join it would be looked up for each lab, and change the plan.
    return f"{lab} <> ALL(ARRAY(SELECT w.target FROM workunits_switch w WHERE w.kind = 'lab'))"  # noqa: S608


EVERYTHING_IS_ON = "NOT EXISTS (SELECT 1 FROM workunits_switch w WHERE w.kind = 'everything')"


class Subject(NamedTuple):
    """What a switch is about: `target` for an account, host or lab, `version` for a version."""

    kind: SwitchKind
    target: int = 0
    version: str = ""


class Words(NamedTuple):
    """What the people concerned read, in both languages, and the reason that operators read."""

    english: str
    vietnamese: str
    reason: str


@transaction.atomic
def switch_off(subject: Subject, words: Words, by: Account) -> Switch:
    """Stop leasing to or from the subject, from the next poll on.

    Raises `NotAllowed`, `BadMessage`, or `Conflict` where it is off already.
    """
    _require(by, ON_PERMISSION)
    _require_sense(subject)
    said = _clean(words)
    if Switch.objects.count() >= MOST:
        raise Conflict(_("Too many switches are on; lift some first."))
    try:
        with transaction.atomic():
            switch = Switch.objects.create(**_columns(subject, said, by))
    except IntegrityError:
        raise Conflict(_("This is switched off already; lift that switch first.")) from None
    SwitchMove.objects.create(on=True, **_columns(subject, said, by))
    switch.refresh_from_db(fields=["since"])
    return switch


@transaction.atomic
def lift(switch: int, reason: str, by: Account) -> None:
    """Lease again, from the next poll on. Raises `NotAllowed`, `BadMessage` or `Conflict`."""
    _require(by, OFF_PERMISSION)
    found = Switch.objects.select_for_update().filter(pk=switch).first()
    if found is None:
        raise Conflict(_("Somebody has lifted this switch already."))
    words = Words(found.sentence_en, found.sentence_vi, reason)
    subject = Subject(SwitchKind(found.kind), found.target, found.version)
    SwitchMove.objects.create(on=False, **_columns(subject, _clean(words), by))
    found.delete()


def of_machines(account: int, hosts: dict[int, str], language: str) -> dict[int, str]:
    """The sentences for those of an account's machines that get nothing now.

    `hosts`: the row id of each machine and its client's version. One query, whatever their number.
    """
    on = list(Switch.objects.exclude(kind=SwitchKind.LAB).order_by("id"))
    told: dict[int, str] = {}
    for host, version in hosts.items():
        for each in on:
            if _concerns(each, account, host, version):
                told[host] = in_language(each, language)
                break
    return told


def of_labs(labs: list[int], language: str) -> dict[int, str]:
    """The sentences for those of the labs from which nothing is leased now. One query."""
    kinds = [SwitchKind.EVERYTHING, SwitchKind.LAB]
    told: dict[int, str] = {}
    for each in Switch.objects.filter(kind__in=kinds).order_by("id"):
        concerned = labs if each.kind == SwitchKind.EVERYTHING else [each.target]
        for lab in concerned:
            told.setdefault(lab, in_language(each, language))
    return {lab: told[lab] for lab in labs if lab in told}


def in_language(switch: Switch | SwitchMove, language: str) -> str:
    """The sentence in the reader's language."""
    return switch.sentence_vi if language == "vi" else switch.sentence_en


def _concerns(switch: Switch, account: int, host: int, version: str) -> bool:
    match switch.kind:
        case SwitchKind.EVERYTHING:
            return True
        case SwitchKind.VERSION:
            return switch.version == version
        case SwitchKind.ACCOUNT:
            return switch.target == account
        case SwitchKind.HOST:
            return switch.target == host
    return False


def _columns(subject: Subject, words: Words, by: Account) -> dict[str, object]:
    return {
        "kind": subject.kind.value,
        "target": subject.target,
        "version": subject.version,
        "sentence_en": words.english,
        "sentence_vi": words.vietnamese,
        "reason": words.reason,
        "by": by,
    }


def _require(by: Account, permission: str) -> None:
    if not by.is_staff or not by.has_perm(permission):
        raise NotAllowed(_("Only an operator turns switches."))


def _require_sense(subject: Subject) -> None:
    is_row = subject.kind.value in OF_A_ROW
    if is_row and not _exists(subject):
        raise BadMessage(_("There is no such account, machine or lab."))
    if subject.kind is SwitchKind.VERSION and not subject.version.strip():
        raise BadMessage(_("A client version is needed, as the clients state it."))
    if bool(subject.target) != is_row or bool(subject.version) != (
        subject.kind is SwitchKind.VERSION
    ):
        raise BadMessage(_("A switch is about one thing."))


def _exists(subject: Subject) -> bool:
    from research_access.models import Lab

    model = {SwitchKind.ACCOUNT: Account, SwitchKind.HOST: Host, SwitchKind.LAB: Lab}
    return model[subject.kind]._default_manager.filter(pk=subject.target).exists()


def _clean(words: Words) -> Words:
    english = clean_name(words.english, MAX_SENTENCE)
    vietnamese = clean_name(words.vietnamese, MAX_SENTENCE)
    reason = clean_name(words.reason, MAX_REASON)
    if not english or not vietnamese:
        raise BadMessage(_("The people concerned need a sentence in both languages."))
    if not reason:
        raise BadMessage(_("A reason is needed: other operators read it."))
    return Words(english, vietnamese, reason)
