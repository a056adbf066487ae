"""The catalogue: kinds of computation, what is planned, and every operator."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from accounts.text import clean_name, fold
from gpugoblin_site.pages import operators
from gpugoblin_site.pages.families import KINDS
from opgraph.catalogue import CATALOGUE_VERSION, OPERATORS
from research_access.services import planned_proposals

MOST_QUERY = 100
MOST_PLANNED = 200


@require_safe
def catalogue(request: HttpRequest) -> HttpResponse:
    """All of it, or what holds the words of `q`; to htmx only the part that was found."""
    query = clean_name(request.GET.get("q", ""), MOST_QUERY)
    moving = "HX-Request" in request.headers
    template = "pages/catalogue_found.html" if moving else "pages/catalogue.html"
    answer = render(request, template, _found(query) | {"moving": moving})
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def _found(query: str) -> dict[str, Any]:
    language = get_language() or settings.LANGUAGE_CODE
    words = operators.words_of(query)
    sections = operators.sections(language, words)
    titles = [row.title(language) for row in planned_proposals(MOST_PLANNED)]
    return {
        "query": query if words else "",
        "sections": sections,
        "number": sum(section.number for section in sections),
        "all": len(OPERATORS),
        "version": CATALOGUE_VERSION,
        "kinds": [each for each in KINDS if _holds(f"{each.title} {each.text}", words)],
        "planned": [title for title in titles if _holds(title, words)],
        "is_reference_foreign": not language.startswith("en"),
    }


def _holds(text: str, words: list[str]) -> bool:
    return operators.holds(fold(text), words)
