"""The site as the client sees it: the exchange, waiting, sign-in, the state of the account."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from goblin_client import __version__
from goblin_client.errors import ClientError
from goblin_wire import site_address
from goblin_wire.exchange import ExchangeReply, ExchangeRequest
from goblin_wire.http import READ_TIMEOUT_S, HttpClient
from goblin_wire.problems import BadReply
from goblin_wire.protocol import WAIT_S
from goblin_wire.volunteer import VolunteerStatus

USER_AGENT = f"goblin-client/{__version__}"
WAIT_LIMIT = 4096


class BadSite(ClientError):
    """The site's address cannot be used."""

    status = 2


def check_site(url: str) -> str:
    """The site's base URL. Raises `BadSite`."""
    try:
        return site_address.check_site(url)
    except ValueError as error:
        raise BadSite(str(error)) from None


class Site:
    """Calls to the site. Used by one thread; proxies of the environment are honoured."""

    def __init__(self, url: str, token: str, *, read_timeout: float = READ_TIMEOUT_S) -> None:
        self._http = HttpClient(
            check_site(url),
            authorization=f"Bearer {token}",
            user_agent=USER_AGENT,
            read_timeout=read_timeout,
        )

    def exchange(self, request: ExchangeRequest) -> ExchangeReply:
        return self._http.call("POST", "/api/v1/exchange", request, ExchangeReply)

    def status(self) -> VolunteerStatus:
        return self._http.call("GET", "/api/v1/volunteer/status", None, VolunteerStatus)

    def sign_out(self) -> None:
        """Revoke our token."""
        self._http.get_bytes("/api/v1/sign-out", method="POST", limit=WAIT_LIMIT)

    def close(self) -> None:
        self._http.close()


class Waiter:
    """Waits at the site's waiting address. Used by one thread."""

    def __init__(self) -> None:
        self._base = ""
        self._http: HttpClient | None = None

    def wait(self, url: str, ticket: str) -> None:
        """Return when it is worth coming back. Raises a `Problem`."""
        base, path = _split(url)
        if self._http is None or base != self._base:
            self._base, self._http = base, HttpClient(base, user_agent=USER_AGENT)
        self._http.get_bytes(
            f"{path}?ticket={quote(ticket, safe='')}", limit=WAIT_LIMIT, read_timeout=WAIT_S + 15.0
        )


def _split(url: str) -> tuple[str, str]:
    try:
        checked = check_site(url)
    except BadSite as error:
        raise BadReply(f"The site's waiting address cannot be used: {error}") from None
    parts = urlsplit(checked)
    return f"{parts.scheme}://{parts.netloc}", parts.path or "/wait"
