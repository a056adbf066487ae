"""Measurements of the site's own process, for Prometheus.

With several gunicorn workers each writes into a file of the run's folder and `/metrics` adds them
up; `use_folder_of_run` must run before anything is measured (`wsgi.py` does it).
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
Figures = Mapping[str, tuple[str, float]]
"""Name of a gauge -> what it says, and its value."""
_figures: list[Callable[[], Figures]] = []
_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def use_folder_of_run(state_directory: Path) -> None:
    """Share measurements between the workers of this gunicorn; drop those of ended runs."""
    parent = state_directory / "metrics"
    folder = parent / str(os.getppid())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault(_FOLDER_VARIABLE, str(folder))
    for other in parent.iterdir():
        if other.name.isdigit() and not _is_running(int(other.name)):
            shutil.rmtree(other, ignore_errors=True)


def _is_running(process: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one answered request; `method` is one of `METHODS` or `other`, `route` a pattern."""
    from gpugoblin_site import instruments

    instruments.REQUEST_SECONDS.labels(method, route, status).observe(seconds)


def register_figures(read: Callable[[], Figures]) -> None:
    """Show what `read()` finds in the database with every scrape; it must be cheap."""
    _figures.append(read)


def exposition() -> bytes:
    """The measurements of all workers in Prometheus' text format."""
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, multiprocess

    if _FOLDER_VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def figures() -> bytes:
    """The registered figures, which are the same whichever worker is asked."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import GaugeMetricFamily

    class Collected:
        def collect(self) -> list[GaugeMetricFamily]:
            found = [item for read in _figures for item in read().items()]
            return [GaugeMetricFamily(name, says, value=value) for name, (says, value) in found]

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected())
    return generate_latest(registry)
