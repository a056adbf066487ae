"""Django's admin with our log-in instead of a password form; named in INSTALLED_APPS."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class AdminConfig(DjangoAdminConfig):
    default_site = "accounts.admin_site.GoblinAdminSite"
