"""The pages and doors of this room in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts import admin_doors, admin_pages
from accounts.admin_doors import Door
from accounts.admin_pages import Page
from accounts.models import Account
from workunits.admin import cockpit, how_to, incidents, switches
from workunits.admin.base import list_of
from workunits.models import Host, Standing, SwitchKind

PERMISSION = "workunits.view_measured"


def _cockpit(request: HttpRequest) -> HttpResponse:
    return cockpit.page(request, admin.site)


def _how_to(request: HttpRequest, slug: str) -> HttpResponse:
    return how_to.page(request, admin.site, slug)


def _of_account(account: Account) -> SafeString:
    """An account's machines and figures, and the way to switch them off."""
    found = [
        list_of(Host, _("its machines"), account=account.pk),
        list_of(Standing, _("its figures"), q=account.pk),
        format_html(
            '<a href="{}">{}</a>',
            switches.door(SwitchKind.ACCOUNT, account.key.hex),
            _("switch its machines off"),
        ),
    ]
    return format_html_join(" · ", "{}", ((each,) for each in found))


def add() -> None:
    """Make them known to the admin."""
    admin_pages.add_links(_of_account)
    admin_pages.add(Page("cockpit/", "cockpit", PERMISSION, _cockpit))
    admin_pages.add(Page("how-to/<slug:slug>/", "how-to", PERMISSION, _how_to))
    admin_doors.add(Door("admin:cockpit", _("Cockpit"), PERMISSION, cockpit.beyond))
    admin_doors.add(
        Door(
            "admin:workunits_switch_changelist",
            _("Switches"),
            "workunits.view_switch",
            switches.standing,
        )
    )
    admin_doors.add(
        Door(
            "admin:workunits_incident_changelist",
            _("Incidents"),
            "workunits.view_incident",
            incidents.standing,
        )
    )
