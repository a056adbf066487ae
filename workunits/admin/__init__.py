"""The admin of this room: what operators read, the switches they turn, the incidents they tell."""

from workunits.admin import pages
from workunits.admin.hosts import HostAdmin
from workunits.admin.incidents import IncidentAdmin, IncidentVersionAdmin
from workunits.admin.jobs import JobAdmin
from workunits.admin.labs import LabNodeAdmin
from workunits.admin.leases import CreditEntryAdmin, LeaseAdmin, StandingAdmin, VerdictBatchAdmin
from workunits.admin.switches import SwitchAdmin, SwitchMoveAdmin
from workunits.admin.units import UnitAdmin

__all__ = [
    "CreditEntryAdmin",
    "HostAdmin",
    "IncidentAdmin",
    "IncidentVersionAdmin",
    "JobAdmin",
    "LabNodeAdmin",
    "LeaseAdmin",
    "StandingAdmin",
    "SwitchAdmin",
    "SwitchMoveAdmin",
    "UnitAdmin",
    "VerdictBatchAdmin",
]

pages.add()
