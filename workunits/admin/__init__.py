"""The admin of this room: what operators read, and the switches that they turn."""

from workunits.admin.switches import SwitchAdmin, SwitchMoveAdmin

__all__ = ["SwitchAdmin", "SwitchMoveAdmin"]
