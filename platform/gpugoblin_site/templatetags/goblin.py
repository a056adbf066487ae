"""What every template may use: `{% load goblin %}`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from gpugoblin_site import charts, drawings, plotting, readable
from gpugoblin_site.pages import menu as menus

register = template.Library()

_ICONS = {
    kind: format_html(
        '<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">'
        '<path fill="currentColor" fill-rule="evenodd" d="{}"/></svg>',
        path,
    )
    for kind, path in drawings.ICONS.items()
}
_OPTION = '<span class="word">{}</span>'
_CODE = "<code>{}</code>"
_KINDS = {"success": "done", "warning": "waiting", "error": "refused"}


@register.simple_tag
def icon(kind: str) -> SafeString:
    """A small drawing for a kind of state; says nothing to a screen reader."""
    return _ICONS[kind]


@register.simple_tag
def status(kind: str, text: object) -> SafeString:
    """A state as a sign and words. Lists have many, and a template for each would take longer than
    everything else on the page."""
    return format_html('<span class="status {}">{}<span>{}</span></span>', kind, _ICONS[kind], text)


@register.simple_tag
def mark() -> SafeString:
    """The goblin, in the colour of the text around it."""
    return format_html(
        '<svg class="goblin" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">'
        '<path fill="currentColor" fill-rule="evenodd" d="{}"/></svg>',
        drawings.GOBLIN,
    )


@register.inclusion_tag("components/chart.html")
def chart(data: charts.Chart) -> dict[str, plotting.Drawing]:
    """A chart, with a table of the same data behind a switch."""
    return {"drawing": plotting.draw(data)}


@register.simple_tag(takes_context=True)
def menu(context: Context, name: str) -> list[menus.Entry]:
    """The entries of a menu: `public`, `own` or `footer`."""
    request = context.get("request")
    return menus.entries(name, request.path if request is not None else "")


@register.simple_tag(takes_context=True)
def with_page(context: Context, number: int) -> str:
    """The query of this page with another page number; filters are kept."""
    query = context["request"].GET.copy()
    query["page"] = str(number)
    return f"?{query.urlencode()}"


@register.filter
def notice_kind(tags: str) -> str:
    """The kind of notice for the tags of a message."""
    return next((_KINDS[tag] for tag in tags.split() if tag in _KINDS), "info")


@register.filter
def flops(value: float) -> str:
    """2.4 PFLOP."""
    return readable.flops(value)


@register.filter(name="bytes")
def amount_of_bytes(value: float) -> str:
    """1.5 GiB."""
    return readable.amount_of_bytes(value)


@register.filter
def duration(value: timedelta | float) -> str:
    """3 min 20 s."""
    return readable.duration(value)


@register.filter
def number(value: float, places: int = 0) -> str:
    """A number by locale: 12,345."""
    return readable.number(value, places)


@register.filter
def lines(text: str) -> list[str]:
    """The lines of a text; what was safe stays so."""
    return [mark_safe(line) if isinstance(text, SafeString) else line for line in text.split("\n")]  # noqa: S308


@register.filter
def unbroken(line: str) -> str:
    """A line of a command whose options are not broken after a hyphen; what was safe stays so."""
    if isinstance(line, SafeString):
        return line
    marked = ((_OPTION if word.startswith("-") else "{}", word) for word in line.split(" "))
    return mark_safe(" ".join(format_html(form, word) for form, word in marked))  # noqa: S308


@register.filter
def ticks(text: str) -> str:
    """A text with `names` in ticks, as code."""
    parts = enumerate(text.split("`"))
    if text.count("`") % 2:
        return text
    return format_html_join(
        "", "{}", ((format_html(_CODE if at % 2 else "{}", part),) for at, part in parts)
    )


@register.filter
def plain(value: Any) -> str:
    """A number as attributes want it, whatever the language."""
    return f"{value:g}" if isinstance(value, float) else str(int(value))


@register.filter
def ago(moment: datetime) -> SafeString:
    """`3 min ago`; the exact time is in the title, in the reader's zone."""
    local = timezone.localtime(moment)
    exact = date_format(local, "DATETIME_FORMAT")
    return format_html(
        '<time datetime="{}" title="{} {}">{}</time>',
        moment.isoformat(timespec="seconds"),
        exact,
        local.strftime("%Z"),
        readable.ago(moment),
    )
