"""Over HTTP: the right status and code for whatever is sent, and nothing stored for nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from accounts.services import issue_token
from goblin_wire import codec
from goblin_wire.exchange import ExchangeReply, ExchangeRequest
from goblin_wire.lab import UnitBatch
from goblin_wire.states import Policy
from goblin_wire.tokens import Scope
from goblin_wire.volunteer import VolunteerStatus
from workunits.models import Host, Unit
from workunits.tests.world import Researcher, Volunteer, done, hex_id, unit, verdict, want

pytestmark = pytest.mark.django_db(transaction=True)


class Program:
    """A program with a token."""

    def __init__(self, account: int, scope: Scope, **of: Any) -> None:
        token = issue_token(Account.objects.get(pk=account), scope, **of)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._client = Client()

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        response = self._client.post(
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={**self._headers, **headers},
        )
        return response.status_code, json.loads(response.content)

    def get(self, path: str) -> tuple[int, bytes]:
        response = self._client.get(f"/api/v1/{path}", headers=self._headers)
        return response.status_code, response.content


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


@pytest.fixture
def node(lab: Researcher) -> Program:
    return Program(lab.principal.account_id, Scope.LAB, lab=lab.lab)


@pytest.fixture
def volunteer() -> Volunteer:
    return Volunteer.make()


@pytest.fixture
def client_program(volunteer: Volunteer) -> Program:
    return Program(volunteer.principal.account_id, Scope.VOLUNTEER)


def message(**changes: Any) -> dict[str, Any]:
    return {"protocol": 1, "host": hex_id(), "seq": 1, "nonce": "ab" * 8, **changes}


BAD: list[tuple[bytes, int, str]] = [
    (b"", 400, "not_json"),
    (b"{", 400, "not_json"),
    (b"\xff\xfe", 400, "not_json"),
    (b"[" * 100_000, 400, "bad_message"),
    (b"[]", 400, "bad_message"),
    (b"{}", 400, "bad_message"),
    (json.dumps(message(host="../../etc/passwd")).encode(), 400, "bad_message"),
    (json.dumps(message(seq=-1)).encode(), 400, "bad_message"),
    (json.dumps(message(seq=2**60)).encode(), 400, "bad_message"),
    (json.dumps(message(nonce="x")).encode(), 400, "bad_message"),
    (json.dumps(message(protocol=99)).encode(), 426, "unsupported_protocol"),
    (json.dumps(message(done=[{"lease": "x"}])).encode(), 400, "bad_message"),
    (json.dumps(message(want=[{"device": "tpu", "units": 1}])).encode(), 400, "bad_message"),
    (json.dumps(message(holding=[{"lease": hex_id()}] * 1025)).encode(), 400, "bad_message"),
    (json.dumps(message(version="x" * 5_000_000)).encode(), 413, "too_large"),
]


@pytest.mark.parametrize(("body", "status", "code"), BAD, ids=range(len(BAD)))
def test_nonsense_is_refused_and_nothing_is_stored(
    client_program: Program, body: bytes, status: int, code: str
) -> None:
    answered, problem = client_program.post("exchange", body)
    assert (answered, problem["code"]) == (status, code)
    assert problem["detail"]
    assert Host.objects.count() == 0


def test_a_number_that_is_none_is_refused_or_clamped(client_program: Program) -> None:
    body = codec.encode(ExchangeRequest(**message(want=[want(1)])))
    for strange in (b"NaN", b"1e999", b"-1e999"):
        status, problem = client_program.post("exchange", body.replace(b"1000000000.0", strange))
        assert status == 400
        assert problem["code"] in {"not_json", "bad_message"}
    assert Host.objects.count() == 0


def test_names_with_quotes_are_taken_and_such_that_steer_a_terminal_are_not(
    client_program: Program,
) -> None:
    strange = message(version='1"', want=[want(1, device_class='a{b},"c\\')])
    assert client_program.post("exchange", codec.encode(ExchangeRequest(**strange)))[0] == 200
    assert Host.objects.get().version == '1"'
    for steering in ("1\0", "\x1b[2J", "\x9b1m", "\u202e"):
        body = codec.encode(ExchangeRequest(**message(version=steering)))
        status, problem = client_program.post("exchange", body)
        assert (status, problem["code"]) == (400, "bad_message")
    assert Host.objects.count() == 1


def test_a_token_of_the_wrong_kind_is_refused(
    client_program: Program, node: Program, lab: Researcher
) -> None:
    assert node.post("exchange", json.dumps(message()).encode())[0] == 403
    for path in ("lab/hello", "lab/events", "lab/jobs", "lab/verdicts", "lab/probe"):
        assert client_program.post(path, b"{}")[0] == 403
    assert (
        Client().post("/api/v1/exchange", b"{}", content_type="application/json").status_code == 401
    )


def test_the_road_over_http(
    lab: Researcher, node: Program, volunteer: Volunteer, client_program: Program
) -> None:
    job = {"job": hex_id(), "kind": "product", "units": 1, "flops": 1000}
    assert node.post("lab/jobs", json.dumps(job).encode())[0] == 200
    batch = codec.encode(UnitBatch(units=[unit(0)]))
    assert node.post(f"lab/jobs/{job['job']}/units", batch)[0] == 200
    ask = ExchangeRequest(**message(want=[want(1)]))
    _, answer = client_program.post("exchange", codec.encode(ask))
    (lease,) = codec.decode(json.dumps(answer).encode(), ExchangeReply).leases
    ask.seq, ask.want, ask.done = 2, [], [done(lease)]
    assert client_program.post("exchange", codec.encode(ask))[0] == 200
    body = json.dumps(
        {"protocol": 1, "verdicts": [json.loads(codec.encode(verdict(lease)))]}, indent=1
    ).encode()
    signature = lab.key.sign(body).hex()
    status, outcome = node.post("lab/verdicts", body, **{"Goblin-Signature": signature})
    assert (status, outcome["outcomes"][0]["unit_state"]) == (200, "accepted")
    assert node.post("lab/verdicts", body, **{"Goblin-Signature": "00" * 64})[0] == 403
    status_code, content = client_program.get("volunteer/status")
    assert (status_code, codec.decode(content, VolunteerStatus).flops) == (200, 1000.0)


def test_the_status_tells_why_a_result_was_refused(
    lab: Researcher, volunteer: Volunteer, client_program: Program
) -> None:
    from goblin_wire.states import VerdictKind

    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease, VerdictKind.REJECTED, code="wrong_result", reason="Entry (3, 4)."))
    stranger = Program(Volunteer.make(seasoned=False).principal.account_id, Scope.VOLUNTEER)
    _, content = client_program.get("volunteer/status")
    status = codec.decode(content, VolunteerStatus)
    assert [(r.code, r.reason) for r in status.refusals] == [("wrong_result", "Entry (3, 4).")]
    assert (status.rejected, len(status.hosts)) == (1, 1)
    _, content = stranger.get("volunteer/status")
    assert codec.decode(content, VolunteerStatus) == VolunteerStatus()


@pytest.mark.parametrize(
    "path",
    [
        "lab/jobs/zz",
        "lab/jobs/" + "0" * 31,
        "lab/jobs/" + "A" * 32,
    ],
)
def test_an_id_that_is_none_is_not_found(node: Program, path: str) -> None:
    status, content = node.get(path)
    assert (status, json.loads(content)["code"]) == (404, "not_found")


def test_an_unknown_job_is_not_found(node: Program) -> None:
    batch = codec.encode(UnitBatch(units=[unit(0)]))
    for path in ("", "/units", "/action"):
        target = f"lab/jobs/{hex_id()}{path}"
        body = b'{"action": "cancel"}' if path == "/action" else batch
        status, problem = node.post(target, body) if path else node.get(target)
        if isinstance(problem, bytes):
            problem = json.loads(problem)
        assert (status, problem["code"]) == (404, "unknown_job")
    assert Unit.objects.count() == 0


def test_a_method_that_is_none_is_told(node: Program, client_program: Program) -> None:
    status, content = client_program.get("exchange")
    assert (status, json.loads(content)["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("size", [2**53 - 1, 0])
def test_extreme_sizes_are_taken(lab: Researcher, volunteer: Volunteer, size: int) -> None:
    lab.job(units=1, flops=size, memory=0, input_bytes=size, output_bytes=0)
    lab.events()
    reply = volunteer.ask(1)
    assert all(lease.flops == size for lease in reply.leases)


@pytest.mark.parametrize("policy", ["compare", "recompute"])
def test_policies_that_nobody_carries_out_are_refused(
    lab: Researcher, node: Program, policy: str
) -> None:
    job = lab.job(units=0)
    units = UnitBatch(units=[unit(0, policy=Policy(policy), copies=2), unit(1)])
    status, problem = node.post(f"lab/jobs/{job.job}/units", codec.encode(units))
    assert (status, problem["code"]) == (422, "unsupported_computation")
    assert policy in problem["detail"]
    assert not Unit.objects.exists()
