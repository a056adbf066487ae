"""The tables of the work units.

Who computes what: `Job` - `Unit` - `Lease`. What is small and hot has a table of its own:
`Opening` (units that want a lease) and `PendingLease` (leases whose host waits to hear more), so
that the cost of an exchange does not grow with the number of finished units.
"""

from workunits.models.events import Event, Heartbeat, SiteEpoch
from workunits.models.hosts import Device, Host
from workunits.models.incidents import Incident, IncidentVersion
from workunits.models.jobs import Job, JobHour, JobState, Opening, Unit
from workunits.models.labs import LabDay, LabNode
from workunits.models.leases import Lease, PendingLease
from workunits.models.ledger import (
    CreditDay,
    CreditEntry,
    CreditKind,
    Standing,
    Verdict,
    VerdictBatch,
)
from workunits.models.statistics import Hour, Measured
from workunits.models.switches import Switch, SwitchKind, SwitchMove

__all__ = [
    "CreditDay",
    "CreditEntry",
    "CreditKind",
    "Device",
    "Event",
    "Heartbeat",
    "Host",
    "Hour",
    "Incident",
    "IncidentVersion",
    "Job",
    "JobHour",
    "JobState",
    "LabDay",
    "LabNode",
    "Lease",
    "Measured",
    "Opening",
    "PendingLease",
    "SiteEpoch",
    "Standing",
    "Switch",
    "SwitchKind",
    "SwitchMove",
    "Unit",
    "Verdict",
    "VerdictBatch",
]
