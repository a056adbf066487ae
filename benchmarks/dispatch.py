"""`make bench-dispatch`: how many units the site gives out, takes back and accepts per second.

Sixteen connections exchange over HTTP with gunicorn and the real middleware, one lab posts signed
verdicts 64 at a time; everything, this generator included, shares the machine. Then the same on a
database with a million finished units, in interleaved pairs: the cost per unit must not grow.

    python -m benchmarks.dispatch [--seconds 10] [--pairs 5] [--finished 1000000] [--cases 1,16,64]
"""

from __future__ import annotations

import argparse
import time

from benchmarks.dispatch_load import Lab, Load, Result
from benchmarks.dispatch_site import Site, fill, running_site, settle
from benchmarks.report import ForeignLoad, line, median, progress, tree_cpu_seconds

CONNECTIONS = 16
UNITS = 100_000
GROWTH_BATCH = 16
WARM_UP_S = 1.5


def main() -> None:
    options = _options()
    cases = [int(case) for case in options.cases.split(",") if case]
    with running_site(CONNECTIONS) as fresh:
        lab = Lab(fresh.url, fresh.people["lab"])
        progress(f"registering {UNITS} units")
        lab.register(UNITS)
        settle(fresh.database_url)
        for batch in cases:
            _case(fresh, lab, batch, options.seconds)
        if options.pairs:
            _growth(fresh, lab, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.dispatch", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--finished", type=int, default=1_000_000)
    parser.add_argument("--cases", default="1,16,64")
    return parser.parse_args()


def _measure(site: Site, lab: Lab, batch: int, seconds: float) -> tuple[Result, float]:
    """A run, and the CPU milliseconds of PostgreSQL per accepted unit."""
    lab.alive()
    load = Load(site.port, site.people, lab, batch)
    before = tree_cpu_seconds([site.postgres])
    result = load.run(seconds)
    spent = tree_cpu_seconds([site.postgres]) - before
    return result, 1000 * spent / max(1, result.accepted)


def _case(site: Site, lab: Lab, batch: int, seconds: float) -> None:
    _measure(site, lab, batch, WARM_UP_S)
    with ForeignLoad([site.postgres, site.gunicorn]) as load:
        result, cpu = _measure(site, lab, batch, seconds)
    rate = result.accepted / result.seconds
    progress(f"batch {batch}: {rate:.0f} units/s, p95 {result.p95_ms():.1f} ms, {cpu:.3f} CPU ms")
    name = f"batch-{batch}"
    line("dispatch", name, "units_per_s", rate, unit="1/s", foreign_load=load.cores)
    line("dispatch", name, "p95_ms", result.p95_ms(), unit="ms", foreign_load=load.cores)
    line("dispatch", name, "postgres_cpu_ms_per_unit", cpu, unit="ms", foreign_load=load.cores)


def _growth(fresh: Site, lab: Lab, options: argparse.Namespace) -> None:
    """PostgreSQL's CPU per unit with finished units in the tables, over that without them."""
    with running_site(CONNECTIONS) as full:
        full_lab = Lab(full.url, full.people["lab"])
        full_lab.register(CONNECTIONS * GROWTH_BATCH)
        # The hosts that the finished units belong to are made by the first exchanges.
        _measure(full, full_lab, GROWTH_BATCH, WARM_UP_S)
        progress(f"filling in {options.finished} finished units")
        fill(full.database_url, options.finished)
        pair = ((fresh, lab), (full, full_lab))
        for _, its_lab in pair:  # a pair must not run out of units
            its_lab.register(UNITS)
        for site, _ in pair:
            settle(site.database_url)
        for site, its_lab in pair:
            _measure(site, its_lab, GROWTH_BATCH, WARM_UP_S)
        ours = [pid for site, _ in pair for pid in (site.postgres, site.gunicorn)]
        with ForeignLoad(ours) as load:
            ratios = [_pair(*pair, options.seconds / 2) for _ in range(options.pairs)]
    line(
        "dispatch",
        f"finished-{options.finished}",
        "postgres_cpu_growth",
        median(ratios),
        samples=ratios,
        foreign_load=load.cores,
    )


def _pair(fresh: tuple[Site, Lab], full: tuple[Site, Lab], seconds: float) -> float:
    _, without = _measure(*fresh, GROWTH_BATCH, seconds)
    time.sleep(0.5)
    _, with_finished = _measure(*full, GROWTH_BATCH, seconds)
    progress(f"CPU ms per unit: {without:.3f} without, {with_finished:.3f} with finished units")
    return with_finished / without


if __name__ == "__main__":
    main()
