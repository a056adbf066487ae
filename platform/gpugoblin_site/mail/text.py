"""What a mail says: a plain text template in the language of its reader."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.template import Context
from django.template.loader import get_template
from django.utils import translation

MAX_SUBJECT = 200
SIGNATURE = "signature"


@dataclass(frozen=True)
class Text:
    subject: str
    body: str


def render(template: str, context: Mapping[str, str | int], language: str) -> Text:
    """`templates/mail/<template>.txt` in `language`: its first line is the subject, then comes an
    empty line, then the text; the signature is added. Raises `TemplateDoesNotExist`."""
    with translation.override(known(language)):
        subject, _, body = _plain(template, context).strip().partition("\n")
        signature = _plain(SIGNATURE, context)
    return Text(_line(subject), f"{body.strip()}\n\n-- \n{signature.strip()}\n")


def known(language: str | None) -> str:
    """A language of the site, the nearest to `language`."""
    chosen = (language or "").partition("-")[0].lower()
    return chosen if chosen in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def _plain(template: str, context: Mapping[str, str | int]) -> str:
    # Not through the loader's own render(), which would write &#x27; into plain text.
    source = get_template(f"mail/{template}.txt").template  # type: ignore[attr-defined]
    values = {"site": settings.GOBLIN_SITE_URL, **context}
    return str(source.render(Context(values, autoescape=False)))


def _line(subject: str) -> str:
    """One line, composed, without characters that no subject needs."""
    readable = "".join(
        " " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in subject
    )
    return unicodedata.normalize("NFC", " ".join(readable.split()))[:MAX_SUBJECT]
