"""Both listeners against whatever their descriptions allow, and much that they do not allow.

Ids that exist are put in the place of those that are made up, so that the code behind the door is
reached; a test fails where it was not.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import msgspec
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from labnode_rig import LabProcess, normal, product, save
from schemathesis import GenerationMode
from schemathesis.openapi import from_dict

from goblin_labnode.openapi import control_document, data_document
from goblin_wire.control import UploadStart, UploadState
from goblin_wire.data import Manifest
from goblin_wire.problems import PROBLEM_JSON
from goblin_wire.states import JobState

EXAMPLES = 10
DOCUMENTS = {"data": data_document(), "control": control_document()}
SCHEMAS = {name: from_dict(document) for name, document in DOCUMENTS.items()}
OPERATIONS = [
    (name, method.upper(), path)
    for name, document in DOCUMENTS.items()
    for path, methods in document["paths"].items()
    for method in methods
]


class World:
    """An open unit with a lease, a job that runs, one that is done, an array half sent."""

    def __init__(self, lab: LabProcess) -> None:
        folder = lab.data / lab.prefix
        save(folder, "a.npy", normal(64, 64))
        save(folder, "left.npy", normal(4, 0))
        save(folder, "right.npy", normal(0, 4))
        array = lab.open("a.npy")
        submission = product(array, array)
        running = lab.submit(submission).job
        done = lab.submit(product(lab.open("left.npy"), lab.open("right.npy"))).job
        lab.wait_state(done, JobState.DONE)
        unit = lab.wait_units(running, 1)[0]
        self.lease, token = lab.site.capability(unit)
        path = f"/v1/leases/{self.lease}/manifest"
        manifest = lab.data_client(token).call("GET", path, None, Manifest)
        begun = UploadStart(digest="ab" * 32, dtype="float32", shape=[64, 64])
        upload = lab.control().call("POST", "/v1/uploads", begun, UploadState).upload
        key = (lab.folder / "control.key").read_text()
        self.doors = {
            "data": (f"http://127.0.0.1:{lab.data_port}", f"Goblin {token}"),
            "control": (f"http://127.0.0.1:{lab.control_port}", f"Bearer {key}"),
        }
        self.known = {
            "lease": [self.lease],
            "blob": [manifest.graph, *(each.blob for each in manifest.inputs)],
            "job": [running, done],
            "upload": [upload],
        }
        self.done = done
        self.path = f"{lab.prefix}/a.npy"
        self.submission = msgspec.to_builtins(submission)


@pytest.fixture
def world(lab: LabProcess) -> World:
    return World(lab)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize(("name", "method", "path"), OPERATIONS)
def test_no_request_makes_it_fail(
    world: World, name: str, method: str, path: str, mode: GenerationMode
) -> None:
    base, authorization = world.doors[name]
    chance = random.Random(path)
    seen: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=SCHEMAS[name][path][method].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        make_known(case, world, chance, path)
        headers = {**(case.headers or {}), "Authorization": authorization}
        try:
            response = case.call(base_url=base, headers=headers, timeout=10)
        except (requests.exceptions.InvalidHeader, UnicodeError, ValueError):
            return
        seen[response.status_code] += 1
        assert response.status_code < 500 or response.status_code == 507, response.content[:300]
        if response.status_code >= 400 and response.content:
            assert response.headers["content-type"] == [PROBLEM_JSON], response.content[:300]

    send()
    if mode is GenerationMode.POSITIVE:
        assert seen[200] + seen[206], f"nothing got behind the door: {dict(seen)}"


def make_known(case: Any, world: World, chance: random.Random, path: str) -> None:
    """What exists in the place of what was made up; always the lease, mostly the rest."""
    for name in case.path_parameters or {}:
        if name == "lease" or (name in world.known and chance.random() < 0.8):
            case.path_parameters[name] = chance.choice(world.known[name])
    if path.endswith(("/result", "/result/data")) and chance.random() < 0.7:
        case.path_parameters["job"] = world.done
    query = case.query or {}
    if "wait" in query:
        query["wait"] = 0
    if "offset" in query and chance.random() < 0.5:
        query["offset"] = 0
    if isinstance(case.body, dict):
        _fill_body(case.body, world, chance)


def _fill_body(body: dict[str, Any], world: World, chance: random.Random) -> None:
    if _is_huge(body.get("shape")):
        body["shape"] = [2, 3]
    if "dtype" in body and chance.random() < 0.7:
        body["dtype"] = "float32"
    if "graph" in body and chance.random() < 0.7:
        body.update(world.submission)
        # What stays of the made-up body varies the rest, such as `grade`, `name` and `out`.
        if chance.random() < 0.5:
            for name in ("shape", "memory", "out"):
                body.pop(name, None)
    if set(body) == {"path"} and chance.random() < 0.5:
        body["path"] = world.path


def _is_huge(shape: Any) -> bool:
    """Whether room for it would be taken from everybody else on this machine's disk."""
    sizes = shape if isinstance(shape, list) else []
    return math.prod(size for size in sizes if isinstance(size, int)) > 1_000_000
