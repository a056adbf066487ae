"""The tables of the work units.

Who computes what: `Job` - `Unit` - `Lease`. What is small and hot has a table of its own:
`Opening` (units that want a lease) and `PendingLease` (leases whose host waits to hear more), so
that the cost of an exchange does not grow with the number of finished units.
"""

from workunits.models.events import Event, Heartbeat, SiteEpoch
from workunits.models.hosts import Device, Host
from workunits.models.jobs import Job, JobState, Opening, Unit
from workunits.models.labs import LabDay, LabNode
from workunits.models.leases import Lease, PendingLease
from workunits.models.ledger import CreditEntry, CreditKind, Standing, Verdict, VerdictBatch

__all__ = [
    "CreditEntry",
    "CreditKind",
    "Device",
    "Event",
    "Heartbeat",
    "Host",
    "Job",
    "JobState",
    "LabDay",
    "LabNode",
    "Lease",
    "Opening",
    "PendingLease",
    "SiteEpoch",
    "Standing",
    "Unit",
    "Verdict",
    "VerdictBatch",
]
