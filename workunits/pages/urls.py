"""The addresses of the pages about machines, contributions, jobs and the network."""

from __future__ import annotations

from django.urls import path

from workunits.pages import views

urlpatterns = [
    path("machines/", views.machines, name="machines"),
    path("machines/<uuid:uid>/", views.machine, name="machine"),
    path("machines/<uuid:uid>/remove/", views.remove_machine, name="machine-remove"),
    path("contribution/", views.my_contribution, name="contribution"),
    path("contribution.csv", views.contribution_file, name="contribution-csv"),
    path("leaderboard/", views.leaders, name="leaderboard"),
    path("labs/<uuid:key>/jobs/", views.lab_jobs, name="lab-jobs"),
    path("status/", views.network_status, name="status"),
]
