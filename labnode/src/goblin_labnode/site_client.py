"""The site's lab API, call by call. One client per thread."""

from __future__ import annotations

from urllib.parse import quote

from goblin_labnode import __version__
from goblin_labnode.keys import Secrets
from goblin_wire.codec import encode
from goblin_wire.http import HttpClient
from goblin_wire.lab import (
    EventsReply,
    EventsRequest,
    JobAction,
    JobRegistration,
    JobStatus,
    LabHello,
    LabWelcome,
    Reachability,
    UnitBatch,
    UnitRegistration,
    Verdict,
    VerdictBatch,
    VerdictReply,
    Window,
)
from goblin_wire.problems import Problem, QuotaExceeded
from goblin_wire.protocol import PROTOCOL, SIGNATURE_HEADER, WAIT_S

USER_AGENT = f"goblin-lab/{__version__}"
_WAIT_TIMEOUT_S = WAIT_S + 10.0


class SiteClient:
    """Calls raise `Problem`."""

    def __init__(self, site: str, secrets: Secrets) -> None:
        self._http = HttpClient(
            site,
            authorization=f"Bearer {secrets.token}",
            user_agent=USER_AGENT,
            connect_retries=0,
        )
        self._signer = secrets.signer()

    def close(self) -> None:
        self._http.close()

    def hello(self, endpoint: str, certificate: str | None) -> LabWelcome:
        message = LabHello(
            protocol=PROTOCOL,
            version=__version__,
            public_key=self._signer.public,
            endpoint=endpoint,
            certificate=certificate,
        )
        return self._http.call("POST", "/api/v1/lab/hello", message, LabWelcome)

    def register_job(self, job: JobRegistration) -> JobStatus:
        return self._http.call("POST", "/api/v1/lab/jobs", job, JobStatus)

    def register_units(self, job: str, units: list[UnitRegistration]) -> JobStatus:
        path = f"/api/v1/lab/jobs/{job}/units"
        return self._http.call("POST", path, UnitBatch(units=units), JobStatus)

    def act(self, job: str, action: JobAction) -> JobStatus:
        return self._http.call("POST", f"/api/v1/lab/jobs/{job}/action", action, JobStatus)

    def job(self, job: str) -> JobStatus:
        return self._http.call("GET", f"/api/v1/lab/jobs/{job}", None, JobStatus)

    def events(self, cursor: str, window: Window) -> EventsReply:
        message = EventsRequest(protocol=PROTOCOL, cursor=cursor, window=window)
        return self._http.call("POST", "/api/v1/lab/events", message, EventsReply)

    def verdicts(self, verdicts: list[Verdict]) -> VerdictReply:
        body = encode(VerdictBatch(protocol=PROTOCOL, verdicts=verdicts))
        headers = {SIGNATURE_HEADER: self._signer.sign(body).hex()}
        return self._http.call_bytes(
            "POST", "/api/v1/lab/verdicts", body, VerdictReply, headers=headers
        )

    def probe(self) -> Reachability:
        """Ask the site to look whether it reaches this lab's endpoint."""
        return self._http.call("POST", "/api/v1/lab/probe", None, Reachability)


class WaitClient:
    """The site's waiting process, at the address that the last reply named."""

    def __init__(self) -> None:
        self._url = ""
        self._http: HttpClient | None = None

    def wait(self, url: str, ticket: str) -> None:
        """Return when it is worth asking for events again. Raises `Problem`."""
        if self._http is None or url != self._url:
            self.close()
            self._url, self._http = url, HttpClient(url, user_agent=USER_AGENT, connect_retries=0)
        self._http.get_bytes(f"?ticket={quote(ticket, safe='')}", read_timeout=_WAIT_TIMEOUT_S)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None


def is_temporary(problem: Problem) -> bool:
    """Whether the trouble is with the site or with this lab as a whole, not with one message."""
    if isinstance(problem, QuotaExceeded):
        return False
    return problem.status >= 500 or problem.status in (401, 403, 408, 425, 426, 429)
