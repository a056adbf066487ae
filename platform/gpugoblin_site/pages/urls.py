"""Addresses of the pages that need no account, and of the first steps after log-in."""

from __future__ import annotations

from django.urls import path

from gpugoblin_site.pages import catalogue, language, start, views

urlpatterns = [
    path("", views.home, name="home"),
    path("start/", start.first_steps, name="start"),
    path("how/", views.how, name="how"),
    path("catalogue/", catalogue.catalogue, name="catalogue"),
    path("data/", views.your_data, name="your-data"),
    path("cost/", views.cost, name="cost"),
    path("contact/", views.contact, name="contact"),
    path("lend/", views.lend, name="lend"),
    path("help/", views.questions, name="help"),
    path("terms/", views.terms, name="terms"),
    path("privacy/", views.privacy, name="privacy"),
    path("language/", language.switch, name="language"),
]
