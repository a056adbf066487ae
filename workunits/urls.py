"""The addresses of the work units."""

from __future__ import annotations

from django.urls import include, path, re_path

from workunits.views import lab, volunteer

_JOB = r"^api/v1/lab/jobs/(?P<job>[0-9a-f]{32})"

urlpatterns = [
    path("", include("workunits.pages.urls")),
    path("api/v1/exchange", volunteer.exchange),
    path("api/v1/volunteer/status", volunteer.volunteer_status),
    path("api/v1/lab/hello", lab.hello),
    path("api/v1/lab/probe", lab.probe_lab),
    path("api/v1/lab/events", lab.read_events),
    path("api/v1/lab/verdicts", lab.post_verdicts),
    path("api/v1/lab/jobs", lab.register_job),
    re_path(rf"{_JOB}$", lab.job_status),
    re_path(rf"{_JOB}/units$", lab.register_units),
    re_path(rf"{_JOB}/action$", lab.act_on_job),
]
