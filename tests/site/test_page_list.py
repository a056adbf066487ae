"""No page is forgotten by the browser tests: their list is compared with the URL configuration."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.services import make_operator
from tests.browser.pages import NOT_PAGES, POSTED, every_page
from tests.browser.people import client_of

PROGRAMS = ("api/", "^api/", "metrics", "healthz", "readyz")
SAMPLES = {"uuid": str(uuid.uuid4()), "int": "1", "slug": "a", "str": "a"}


def addresses(resolver: URLResolver, space: str = "", route: str = "") -> Iterator[tuple[str, str]]:
    """(name with its namespace, route) of everything below a resolver."""
    for entry in resolver.url_patterns:
        here = route + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{space}{entry.namespace}:" if entry.namespace else space
            yield from addresses(entry, inner, here)
        elif isinstance(entry, URLPattern):
            yield f"{space}{entry.name or ''}", here


def pages_of_the_site() -> set[str]:
    found = {
        name or route for name, route in addresses(get_resolver()) if not route.startswith(PROGRAMS)
    }
    return {name for name in found if not name.startswith(tuple(of_the_registry())) and name}


def of_the_registry() -> Iterator[str]:
    """Beginnings of the names that Django's admin makes for each model; `pages.admin_pages` lists
    the list and the form, and here are those that lead elsewhere or are switched off."""
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield from (f"{name}_{what}" for what in ("add", "delete", "history"))


def test_every_address_is_looked_at_or_is_no_page() -> None:
    listed = {place.name for place in every_page()} | NOT_PAGES.keys() | set(POSTED)
    assert pages_of_the_site() - listed == set()


def test_the_list_names_nothing_that_is_gone() -> None:
    known = {name or route for name, route in addresses(get_resolver())}
    listed = {place.name for place in every_page() if not place.name.startswith("/")}
    assert (listed | NOT_PAGES.keys() | set(POSTED)) - known == set()


def test_no_place_is_listed_twice() -> None:
    titles = [place.title for place in every_page()]
    assert len(set(titles)) == len(titles)


@pytest.mark.django_db
@pytest.mark.parametrize("name", POSTED)
def test_what_forms_post_to_shows_no_page(name: str) -> None:
    route = dict(addresses(get_resolver()))[name]
    path = re.sub(r"<(\w+):\w+>", lambda found: SAMPLES[found[1]], route)
    staff = client_of(make_operator("operator@example.org"))
    assert staff.get(f"/{path}").status_code in (302, 405)
