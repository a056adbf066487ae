"""A program and a person at a real server: the sign-in from the first message to the first work."""

from __future__ import annotations

import re
import secrets
from typing import Any

import pytest
import requests

import goblin_wire.problems as wire
from accounts import login, services
from goblin_wire.exchange import ExchangeReply, ExchangeRequest
from goblin_wire.http import HttpClient
from goblin_wire.signin import SignInCode, SignInPoll, SignInStart, SignInToken
from goblin_wire.tokens import Scope

pytestmark = pytest.mark.django_db(transaction=True)


def hidden_fields(page: str) -> dict[str, str]:
    main = page[page.index("<main") :]
    form = main[: main.index("</form>")]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def confirm_in_a_browser(site: str, user_code: str) -> str:
    """Log in by a code, come back to the program's, press Confirm; the page that follows."""
    login_code = login.operators_code(services.create_account("ada@example.org"))
    with requests.Session() as browser:
        asked = browser.get(f"{site}/sign-in/?code={user_code}")
        assert "/login/?next=" in asked.url
        typed = hidden_fields(asked.text) | {"email": "ada@example.org"}
        page = browser.post(asked.url, typed).text
        page = browser.post(f"{site}/login/code/", hidden_fields(page) | {"code": login_code}).text
        assert user_code in page
        done = browser.post(f"{site}/sign-in/", hidden_fields(page) | {"decision": "confirm"})
        return done.text


def test_from_the_first_message_to_the_first_exchange(live_server: Any) -> None:
    program = HttpClient(live_server.url)
    start = SignInStart(protocol=1, scope=Scope.VOLUNTEER, program="goblin-client", label="desk")
    code = program.call("POST", "/api/v1/sign-in", start, SignInCode)
    poll = SignInPoll(device_code=code.device_code)
    with pytest.raises(wire.SignInPending):
        program.call("POST", "/api/v1/sign-in/token", poll, SignInToken)
    assert "Done." in confirm_in_a_browser(live_server.url, code.user_code)
    answer = program.call("POST", "/api/v1/sign-in/token", poll, SignInToken)
    program.close()
    ask = ExchangeRequest(protocol=1, host=secrets.token_hex(16), seq=1, nonce=secrets.token_hex(8))
    signed_in = HttpClient(live_server.url, authorization=f"Bearer {answer.token}")
    assert signed_in.call("POST", "/api/v1/exchange", ask, ExchangeReply).leases == []
    signed_in.close()


def test_problems_arrive_as_exceptions(live_server: Any) -> None:
    program = HttpClient(live_server.url, authorization="Bearer nonsense")
    for path, kind in (("/api/v1/exchange", wire.TokenInvalid), ("/api/v1/no", wire.NotFound)):
        with pytest.raises(kind):
            program.call("POST", path, {}, ExchangeReply)
    with pytest.raises(wire.MethodNotAllowed):
        program.call("GET", "/api/v1/sign-in", None, SignInCode)
    program.close()
