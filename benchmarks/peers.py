"""The other ways to the same product, each timed in a process of its own.

`python -m benchmarks.peers numpy A.npy B.npy THREADS` and `... dask A.npy B.npy CHUNK` print one
JSON object with the `seconds` of the product alone (start-up and a small warm-up are left out).

numpy multiplies arrays that are in memory already. dask.distributed runs two workers of one thread
each, which read their chunks from the files, and ends with the whole product at the caller.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[Any]
PEER_TIMEOUT_S = 300


def run(peer: str, a: Path, b: Path, argument: int) -> float:
    """Seconds that `peer` takes for the product of two `.npy` files."""
    threads = str(argument if peer == "numpy" else 1)
    command = [sys.executable, "-m", "benchmarks.peers", peer, str(a), str(b), str(argument)]
    ended = subprocess.run(
        command,
        env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        timeout=PEER_TIMEOUT_S,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{peer} failed: {ended.stderr[-2000:]}")
    return float(json.loads(ended.stdout.splitlines()[-1])["seconds"])


def numpy_seconds(a_path: str, b_path: str) -> float:
    a, b = np.load(a_path), np.load(b_path)
    np.matmul(a[:256, :256], b[:256, :256])
    started = time.perf_counter()
    np.matmul(a, b)
    return time.perf_counter() - started


def dask_seconds(a_path: str, b_path: str, chunk: int) -> float:
    dask: Any = import_module("dask")
    distributed: Any = import_module("dask.distributed")

    quiet = {"distributed.admin.log-format": "%(message)s", "distributed.worker.memory.target": 0.9}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as pool,
        distributed.Client(pool),
    ):
        _dask_product(a_path, b_path, chunk)[:chunk, :chunk].sum().compute()
        started = time.perf_counter()
        _dask_product(a_path, b_path, chunk).compute()
        return time.perf_counter() - started


def _dask_product(a_path: str, b_path: str, chunk: int) -> Any:
    return _dask_array(a_path, chunk) @ _dask_array(b_path, chunk)


def _dask_array(path: str, chunk: int) -> Any:
    da: Any = import_module("dask.array")

    header = np.load(path, mmap_mode="r")
    chunks = da.core.normalize_chunks(chunk, header.shape, dtype=header.dtype)
    return da.map_blocks(_read_chunk, path, chunks=chunks, dtype=header.dtype)


def _read_chunk(path: str, block_info: Any = None) -> Matrix:
    (r0, r1), (c0, c1) = block_info[None]["array-location"]
    return np.ascontiguousarray(np.load(path, mmap_mode="r")[r0:r1, c0:c1])


def main(peer: str, a_path: str, b_path: str, argument: str) -> None:
    if peer == "numpy":
        seconds = numpy_seconds(a_path, b_path)
    else:
        seconds = dask_seconds(a_path, b_path, int(argument))
    print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:5])
