"""What `goblin-client status` shows."""

from __future__ import annotations

from typing import Any

import msgspec

from goblin_client.scheduling.state import NEVER, State
from goblin_client.store import Store
from goblin_wire.states import WorkState

RECENT = 20


def of_store(store: Store) -> dict[str, Any]:
    """What is known without a running client."""
    results = store.results()
    history = store.history(RECENT)
    return {
        "host": store.fact("host") or "",
        "settled": store.counts(),
        "recent": [msgspec.to_builtins(each) for each in history],
        "refusals": [
            msgspec.to_builtins(each) for each in history if each.verdict not in ("accepted",)
        ],
        "kept_results": len(results),
    }


def of_state(state: State, now: float, pids: dict[str, int], unix: float) -> dict[str, Any]:
    """The state of a running client."""
    until = state.paused_until
    return {
        "host": state.talk.host,
        "paused": until is not None,
        "paused_until": None if until in (None, NEVER) else unix + (until - now),
        "notice": state.notice,
        "trouble": state.trouble,
        "devices": [
            {
                "device": device.name,
                "ready": device.ready,
                "reason": device.refused,
                "device_class": device.device_class,
                "memory": device.memory,
                "flops_per_s": device.flops_per_s,
                "pid": pids.get(device.name),
            }
            for device in state.devices.values()
        ],
        "units": [
            {
                "lease": work.id,
                "lab": work.lab,
                "device": work.lease.device,
                "state": str(work.state),
                "progress": round(work.holding().progress, 3),
            }
            for work in state.works.values()
        ],
        "waiting_for_verdict": sum(
            1 for work in state.works.values() if work.state is WorkState.REPORTED
        ),
    }
