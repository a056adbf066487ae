"""Panels in memory: a bounded, least-recently-used store that loads each panel once at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from numpy.typing import NDArray


class PanelKey(NamedTuple):
    run: str
    operand: str
    block: int
    slice: int


Load = Callable[[], NDArray[Any]]


class PanelStore:
    """Panels by key. Whoever asks while another loads the same panel waits for that load."""

    def __init__(self, capacity: int) -> None:
        """`capacity` in bytes; a panel above it is passed on and not kept."""
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[PanelKey, NDArray[Any]] = OrderedDict()
        self._loading: dict[PanelKey, Future[NDArray[Any]]] = {}
        self._bytes = 0

    def get(self, key: PanelKey) -> NDArray[Any] | None:
        with self._lock:
            panel = self._kept.get(key)
            if panel is not None:
                self._kept.move_to_end(key)
            return panel

    def load(self, key: PanelKey, load: Load) -> NDArray[Any]:
        """The panel, loaded by `load` unless it is here or on its way."""
        with self._lock:
            panel = self._kept.get(key)
            if panel is not None:
                return panel
            waiting = self._loading.get(key)
            if waiting is None:
                self._loading[key] = promise = Future[NDArray[Any]]()
        if waiting is not None:
            return waiting.result()
        return self._load(key, load, promise)

    def offer(self, key: PanelKey, panel: NDArray[Any]) -> None:
        """Keep a panel that was read for another purpose, if there is room without evicting."""
        with self._lock:
            if self._bytes + panel.nbytes <= self._capacity:
                self._keep(key, panel)

    def forget(self, run: str) -> None:
        """Drop all panels of a run."""
        with self._lock:
            for key in [key for key in self._kept if key.run == run]:
                self._drop(key)

    def drop(self, key: PanelKey) -> None:
        """Drop a panel that nobody needs any more."""
        with self._lock:
            self._drop(key)

    def _load(self, key: PanelKey, load: Load, promise: Future[NDArray[Any]]) -> NDArray[Any]:
        try:
            panel = load()
        except BaseException as error:
            with self._lock:
                del self._loading[key]
            promise.set_exception(error)
            raise
        with self._lock:
            del self._loading[key]
            self._keep(key, panel)
        promise.set_result(panel)
        return panel

    def _keep(self, key: PanelKey, panel: NDArray[Any]) -> None:
        self._drop(key)
        if panel.nbytes > self._capacity:
            return
        self._kept[key] = panel
        self._bytes += panel.nbytes
        while self._bytes > self._capacity:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: PanelKey) -> None:
        panel = self._kept.pop(key, None)
        if panel is not None:
            self._bytes -= panel.nbytes
