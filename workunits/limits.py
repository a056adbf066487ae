"""The numbers that bound what the site gives out and how long it waits."""

from __future__ import annotations

from goblin_wire.protocol import MAX_HOLDING

# --- units: more than this and a unit is put aside for a person to look at ----------------------
MAX_ERRORS = 4
"""Rejected results of one unit."""
MAX_TOTAL = 12
"""Leases of one unit that were used up: rejected, expired, lapsed or issued again."""
MAX_ISSUED = 64
"""Leases of one unit in all, without those that were handed back for no fault of the unit."""
MAX_ISSUED_AT_ALL = 10_000
MAX_FAULTS = 3
"""Different accounts that cannot compute the unit for the same kind of reason."""
MAX_COST_MISMATCHES = 2
"""Different accounts that found other costs than declared; then the job is paused."""
MAX_LEASES_PER_ACCOUNT_AND_UNIT = 3
"""Leases of an account on one unit that may come to nothing within `FORGIVEN_S`."""
FORGIVEN_S = 86_400.0
HAND_BACKS_PER_LEASE = 7
"""So many hand-backs by a person's wish weigh as much as one lease that came to nothing."""

# --- accounts and hosts -------------------------------------------------------------------------
NEW_ACCOUNT_UNITS = 20
"""Until so many units were accepted an account is new; again after a rejected result."""
NEW_ACCOUNT_OPEN_LEASES = 4
MAX_HOSTS_PER_ACCOUNT = 10_000
"""State directories that an account may ever have made."""
MAX_OPEN_LEASES_PER_HOST = MAX_HOLDING
PATIENCE = 8
"""Leases that may come to nothing in a row before the host is slowed down."""
FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 86_400.0

# --- lease times --------------------------------------------------------------------------------
LEAST_LEASE_S = 60.0
LONGEST_LEASE_S = 7 * 86_400.0
LEASE_MARGIN_S = 45.0
SLOWDOWN = 4.0
"""A machine may be so many times slower than measured before its lease expires."""
SLOWEST_TRANSFER = 250_000.0
"""Bytes per second that a lease leaves time for."""
SLOWEST_DEVICE = 1e8
FASTEST_DEVICE = 1e15
UNMEASURED_DEVICE = 1e9
PUT_ASIDE_S = 3_600.0
"""A lease that the scheduler could not deal with is looked at again after this."""
REPORT_LIFETIME_S = 7 * 86_400.0
"""A report without a verdict lapses after this."""

# --- claims -------------------------------------------------------------------------------------
CANDIDATE_JOBS = 16
CALM_WINDOW = 64
"""With room for so many batches in a lab's window, claims need not take turns."""

# --- keeping ------------------------------------------------------------------------------------
EVENTS_KEPT_DAYS = 30
ABSENT_S = 3600
"""What a host silent for so long was to be told is no longer kept ready for it."""
PROBE_AGAIN_S = 86_400.0
PROBE_RETRY_S = 15.0
ONLINE_S = 90
"""A device seen within this counts as online in the network's figures."""
