"""What a volunteer's client asks the site."""

from __future__ import annotations

from typing import Any

from goblin_wire.exchange import ExchangeReply, ExchangeRequest
from goblin_wire.problems import CopiedHost, HostRemoved, NotAllowed, UnsupportedProtocol
from goblin_wire.tokens import Scope
from goblin_wire.volunteer import VolunteerStatus
from gpugoblin_site.api import Call, endpoint
from workunits import status
from workunits.exchange import exchange as answer


@endpoint(
    "POST",
    request=ExchangeRequest,
    reply=ExchangeReply,
    scope=Scope.VOLUNTEER,
    problems=(CopiedHost, HostRemoved, NotAllowed, UnsupportedProtocol),
)
def exchange(call: Call[ExchangeRequest]) -> ExchangeReply:
    """Report what is finished, renew what is held, and take what is wanted."""
    return answer(call.principal, call.message)


@endpoint("GET", reply=VolunteerStatus, scope=Scope.VOLUNTEER, problems=(HostRemoved,))
def volunteer_status(call: Call[Any]) -> VolunteerStatus:
    """The account's machines, its figures, and why its last results were refused."""
    return status.volunteer_status(call.principal)
