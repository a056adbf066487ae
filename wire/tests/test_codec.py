"""Messages survive the way through bytes; anything else is refused in words."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire import control, exchange, lab
from goblin_wire.codec import decode, encode
from goblin_wire.problems import BadMessage, NotJson, Problem, TooLarge

ids = st.text("0123456789abcdef", min_size=32, max_size=32)
shares = st.floats(0, 1)
holdings = st.builds(
    exchange.Holding, lease=ids, progress=shares, bytes_done=st.integers(0, 2**53 - 1)
)
wants = st.builds(
    exchange.Want,
    device=st.sampled_from(["cpu", "gpu0", "gpu15"]),
    units=st.integers(0, 256),
    seconds=st.floats(0, 1e6),
    memory=st.integers(0, 2**50),
    catalogue=st.just(1),
    device_class=st.text(max_size=200).filter(lambda text: text.isprintable()),
)
requests = st.builds(
    exchange.ExchangeRequest,
    protocol=st.integers(0, 100),
    host=ids,
    seq=st.integers(0, 2**53 - 1),
    nonce=st.text("0123456789abcdef", min_size=16, max_size=64),
    version=st.just("0.1.0"),
    holding=st.lists(holdings, max_size=5),
    want=st.lists(wants, max_size=3),
)


@given(requests)
def test_a_message_survives_the_way(message: exchange.ExchangeRequest) -> None:
    assert decode(encode(message), exchange.ExchangeRequest) == message


@given(st.binary(max_size=300))
def test_random_bytes_are_a_problem(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        decode(body, exchange.ExchangeRequest)
    assert caught.value.status == 400
    assert len(caught.value.detail) < 700


@given(st.recursive(st.none() | st.floats() | st.text(), st.lists))
def test_random_json_is_a_problem(value: object) -> None:
    body = msgspec.json.encode(value)
    with pytest.raises((BadMessage, NotJson)):
        decode(body, control.JobInfo)


def test_the_size_is_checked_before_anything_is_parsed() -> None:
    with pytest.raises(TooLarge):
        decode(b"{" * 101, dict, limit=100)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(NotJson):
        decode(b"[" * 100_000, list)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"a":1}{', b'"\\ud800"'])
def test_what_is_not_json(body: bytes) -> None:
    with pytest.raises(NotJson):
        decode(body, dict)


@pytest.mark.parametrize(
    "text", ["f" * 32 + "\n", "F" * 32, "f" * 31, "f" * 33, "", "../" + "f" * 29]
)
def test_an_id_is_32_hexadecimal_digits_and_nothing_else(text: str) -> None:
    with pytest.raises(BadMessage):
        decode(msgspec.json.encode({"lease": text, "code": "ok"}), exchange.Returned)


@pytest.mark.parametrize("code", ["ok\n", "", "Not", "a b", "x" * 41])
def test_a_code_holds_no_line_break(code: str) -> None:
    with pytest.raises(BadMessage):
        decode(msgspec.json.encode({"lease": "f" * 32, "code": code}), exchange.Returned)


def test_an_action_is_one_of_four() -> None:
    for action in ("pause", "resume", "cancel", "finish"):
        assert decode(msgspec.json.encode({"action": action}), lab.JobAction).action == action
    with pytest.raises(BadMessage):
        decode(b'{"action":"cancel\\n"}', lab.JobAction)


@pytest.mark.parametrize(
    "number", ["-1", "1.5", "1e999", "9007199254740993", '"1"', "true", "null"]
)
def test_a_count_is_a_small_natural_number(number: str) -> None:
    body = b'{"lease":"' + b"f" * 32 + b'","bytes_done":' + number.encode() + b"}"
    with pytest.raises(BadMessage):
        decode(body, exchange.Holding)


def test_what_is_no_number_does_not_travel_as_one() -> None:
    want = exchange.Want(device="cpu", units=1, seconds=1, memory=1, catalogue=1)
    for value in (math.nan, math.inf, -math.inf):
        want.flops_per_s = value
        with pytest.raises(BadMessage):
            decode(encode(want), exchange.Want)


def test_too_many_in_one_message() -> None:
    many = [{"lease": "f" * 32, "code": "ok"}] * 257
    body = {"protocol": 1, "host": "f" * 32, "seq": 1, "nonce": "f" * 16, "returned": many}
    with pytest.raises(BadMessage, match=r"\$\.returned"):
        decode(msgspec.json.encode(body), exchange.ExchangeRequest)


def test_flops_of_a_huge_product_fit() -> None:
    registration = lab.JobRegistration(job="f" * 32, kind="product", units=1, flops=2 * 10**18)
    assert decode(encode(registration), lab.JobRegistration) == registration
