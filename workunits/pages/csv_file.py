"""A table as a file: UTF-8 with a mark at its start, which spreadsheets need to keep accents."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import date

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from workunits.pages.words import Text

MARK = "\ufeff"


def response(days: Iterable[tuple[date, Text, int, int]]) -> HttpResponse:
    """Day (UTC), kind, verified results, flops as whole numbers; headings as the reader's page."""
    text = io.StringIO()
    text.write(MARK)
    writer = csv.writer(text)
    writer.writerow(
        (
            _("Day (UTC)"),
            pgettext("heading", "Kind of computation"),
            _("Verified results"),
            _("Verified floating-point operations"),
        )
    )
    writer.writerows((day.isoformat(), str(kind), units, flops) for day, kind, units, flops in days)
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
