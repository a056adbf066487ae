"""Both listeners against whatever their descriptions allow, and much that they do not allow."""

from __future__ import annotations

import math
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from labnode_rig import LabProcess, normal, product, save
from schemathesis import GenerationMode
from schemathesis.openapi import from_dict

from goblin_labnode.openapi import control_document, data_document
from goblin_wire.problems import PROBLEM_JSON

EXAMPLES = 8
DOCUMENTS = {"data": data_document(), "control": control_document()}
SCHEMAS = {name: from_dict(document) for name, document in DOCUMENTS.items()}
OPERATIONS = [
    (name, method.upper(), path)
    for name, document in DOCUMENTS.items()
    for path, methods in document["paths"].items()
    for method in methods
]


@pytest.fixture
def credentials(lab: LabProcess) -> dict[str, Any]:
    """What lets in: a capability of an open unit with its lease, and the control key."""
    save(lab.data / lab.prefix, "a.npy", normal(64, 64))
    array = lab.open("a.npy")
    unit = lab.wait_units(lab.submit(product(array, array)).job, 1)[0]
    lease, token = lab.site.capability(unit)
    key = (lab.folder / "control.key").read_text()
    return {
        "lease": lease,
        "data": (f"http://127.0.0.1:{lab.data_port}", f"Goblin {token}"),
        "control": (f"http://127.0.0.1:{lab.control_port}", f"Bearer {key}"),
    }


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize(("name", "method", "path"), OPERATIONS)
def test_no_request_makes_it_fail(
    credentials: dict[str, Any], name: str, method: str, path: str, mode: GenerationMode
) -> None:
    operation = SCHEMAS[name][path][method]
    base, authorization = credentials[name]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        if "lease" in case.path_parameters:
            case.path_parameters["lease"] = credentials["lease"]
        headers = {**(case.headers or {}), "Authorization": authorization}
        if isinstance(case.body, dict) and _is_huge(case.body.get("shape")):
            case.body["shape"] = [2, 3]
        if "wait" in (case.query or {}):
            case.query["wait"] = 0
        try:
            response = case.call(base_url=base, headers=headers, timeout=10)
        except (requests.exceptions.InvalidHeader, UnicodeError, ValueError):
            return
        assert response.status_code < 500 or response.status_code == 507, response.content[:300]
        if response.status_code >= 400 and response.content:
            assert response.headers["content-type"] == [PROBLEM_JSON], response.content[:300]

    send()


def _is_huge(shape: Any) -> bool:
    """Whether room for it would be taken from everybody else on this machine's disk."""
    sizes = shape if isinstance(shape, list) else []
    return math.prod(size for size in sizes if isinstance(size, int)) > 1_000_000
