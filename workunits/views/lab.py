"""What a lab node asks the site. Everything is looked up within the token's lab."""

from __future__ import annotations

from typing import Any
from uuid import UUID

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
    VerdictBatch,
    VerdictReply,
)
from goblin_wire.problems import (
    Conflict,
    EndpointRefused,
    JobCancelled,
    NotAllowed,
    UnknownJob,
    UnsupportedComputation,
    UnsupportedProtocol,
)
from goblin_wire.protocol import SIGNATURE_HEADER
from goblin_wire.tokens import Scope
from gpugoblin_site.api import Call, endpoint
from workunits import events, jobs, labs, registration, verdicts


@endpoint(
    "POST",
    request=LabHello,
    reply=LabWelcome,
    scope=Scope.LAB,
    problems=(EndpointRefused, UnsupportedProtocol),
)
def hello(call: Call[LabHello]) -> LabWelcome:
    """Introduce the lab's node: its key, its address and its certificate."""
    return labs.hello(call.principal, call.message)


@endpoint("POST", reply=Reachability, scope=Scope.LAB, problems=(NotAllowed,))
def probe_lab(call: Call[Any]) -> Reachability:
    """Probe the lab node's address now."""
    return labs.probe_now(call.principal.lab)


@endpoint("POST", request=JobRegistration, reply=JobStatus, scope=Scope.LAB, problems=(Conflict,))
def register_job(call: Call[JobRegistration]) -> JobStatus:
    """Register a job; again with the same content it is only found."""
    return registration.register_job(call.principal.lab, call.message)


@endpoint("GET", reply=JobStatus, scope=Scope.LAB, problems=(UnknownJob,))
def job_status(call: Call[Any]) -> JobStatus:
    """How a job stands, its units counted by state."""
    return jobs.status(call.principal.lab, _job(call))


@endpoint(
    "POST",
    request=UnitBatch,
    reply=JobStatus,
    scope=Scope.LAB,
    problems=(UnknownJob, JobCancelled, Conflict, UnsupportedComputation),
)
def register_units(call: Call[UnitBatch]) -> JobStatus:
    """Register units of a job; those that are known already are left as they are."""
    registration.require_offered(call.message)
    return registration.register_units(call.principal.lab, _job(call), call.message)


@endpoint(
    "POST", request=JobAction, reply=JobStatus, scope=Scope.LAB, problems=(UnknownJob, Conflict)
)
def act_on_job(call: Call[JobAction]) -> JobStatus:
    """Pause, resume, cancel or finish a job."""
    return jobs.act(call.principal.lab, _job(call), call.message)


@endpoint(
    "POST",
    request=EventsRequest,
    reply=EventsReply,
    scope=Scope.LAB,
    problems=(NotAllowed, UnsupportedProtocol),
)
def read_events(call: Call[EventsRequest]) -> EventsReply:
    """What happened after the cursor; also the lab's sign of life."""
    return events.read(call.principal, call.message)


@endpoint(
    "POST",
    request=VerdictBatch,
    reply=VerdictReply,
    scope=Scope.LAB,
    problems=(NotAllowed, UnsupportedProtocol),
)
def post_verdicts(call: Call[VerdictBatch]) -> VerdictReply:
    """Verdicts on results, signed with the lab's key over the body's bytes."""
    signature = call.request.headers.get(SIGNATURE_HEADER, "")
    return verdicts.take(call.principal.lab, call.message, call.body, signature)


def _job(call: Call[Any]) -> UUID:
    return UUID(hex=call.ids["job"])
