"""The site's measuring instruments; imported only after the folder of the run is known."""

from __future__ import annotations

from prometheus_client import Histogram

REQUEST_SECONDS = Histogram(
    "goblin_request_seconds",
    "Seconds from a request to its answer, by route and status.",
    ("method", "route", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
