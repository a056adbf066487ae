"""Writes what the quorum machine decided: all of it in one statement, whatever the number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from goblin_wire.states import LeaseState, UnitState
from workunits import limits, quorum
from workunits.database import Query, Row, query, together
from workunits.leasetime import failures_sql
from workunits.quorum import Copy, Deed, Happening
from workunits.snapshot import Held

EVENTS: dict[Deed, str] = {
    Deed.REPORTED: "reported",
    Deed.RETURNED: "returned",
    Deed.EXPIRED: "expired",
    Deed.LAPSED: "expired",
    Deed.SUPERSEDED: "superseded",
    Deed.ACCEPTED: "accepted",
    Deed.QUARANTINED: "quarantined",
    Deed.RELEASED: "released",
}
"""What the lab is told. It knows itself what it rejected and cancelled."""

# Each update says twice which rows it means: a plan that was made for a nearly empty table would
# else walk over all of it once it is full, and compare each row with each value.
_UNCOUNT = """
UPDATE workunits_lease l SET state = v.state, counts = false, code = v.code, reason = v.reason
FROM unnest(%(lease)s::uuid[], %(state)s::text[], %(code)s::text[], %(reason)s::text[])
     AS v(id, state, code, reason)
WHERE l.id = v.id AND l.id = ANY(%(lease)s::uuid[])"""

_LEASES = """leases AS (
  UPDATE workunits_lease l
  SET state = v.state, counts = true, code = v.code, reason = v.reason, host_id = v.host,
      outputs = coalesce(string_to_array(v.outputs, ','), l.outputs)
  FROM unnest(%(l_id)s::uuid[], %(l_state)s::text[], %(l_code)s::text[], %(l_reason)s::text[],
              %(l_outputs)s::text[], %(l_host)s::bigint[])
       AS v(id, state, code, reason, outputs, host)
  WHERE l.id = v.id AND l.id = ANY(%(l_id)s::uuid[])
)"""

# Nothing else writes these rows while their units are locked.
_REPORTS = """reports AS (
  UPDATE workunits_pendinglease p
  SET open = false, live = true, host_id = v.host,
      deadline = now() + make_interval(secs => %(lapse)s)
  FROM unnest(%(r_id)s::uuid[], %(r_host)s::bigint[]) AS v(id, host)
  WHERE p.lease_id = v.id AND p.lease_id = ANY(%(r_id)s::uuid[])
)"""

# The host of an expired lease was told nothing more; now it is to hear again.
_LATE = """late AS (
  INSERT INTO workunits_pendinglease AS p (lease_id, account_id, host_id, lab_id, flops,
         output_bytes, open, live, seconds, deadline, progress, bytes_done)
  SELECT v.id, v.account, v.host, v.lab, v.flops, v.bytes, false, true, 0,
         now() + make_interval(secs => %(lapse)s), 1, 0
  FROM unnest(%(p_id)s::uuid[], %(p_account)s::bigint[], %(p_host)s::bigint[],
              %(p_lab)s::bigint[], %(p_flops)s::bigint[], %(p_bytes)s::bigint[])
       AS v(id, account, host, lab, flops, bytes)
  ON CONFLICT (lease_id) DO UPDATE
  SET open = false, live = true, host_id = excluded.host_id, deadline = excluded.deadline
)"""

_OVER = """over AS (
  UPDATE workunits_pendinglease SET live = false, open = false WHERE lease_id = ANY(%(over)s)
)"""

_GONE = """gone AS (
  DELETE FROM workunits_pendinglease WHERE lease_id = ANY(%(gone)s)
)"""

_UNITS = """units AS (
  UPDATE workunits_unit u
  SET state = v.state, wanted = v.wanted, spared = v.spared, code = v.code, chosen = v.chosen
  FROM unnest(%(u_id)s::bigint[], %(u_state)s::text[], %(u_wanted)s::smallint[],
              %(u_spared)s::smallint[], %(u_code)s::text[], %(u_chosen)s::uuid[])
       AS v(id, state, wanted, spared, code, chosen)
  WHERE u.id = v.id AND u.id = ANY(%(u_id)s::bigint[])
)"""

_OPENED = """opened AS (
  INSERT INTO workunits_opening (unit_id, job_id, rank, position, memory, catalogue)
  SELECT * FROM unnest(%(o_unit)s::bigint[], %(o_job)s::bigint[], %(o_rank)s::smallint[],
                       %(o_position)s::bigint[], %(o_memory)s::bigint[], %(o_catalogue)s::bigint[])
  ON CONFLICT (unit_id) DO UPDATE SET rank = excluded.rank
)"""

_CLOSED = """closed AS (
  DELETE FROM workunits_opening WHERE unit_id = ANY(%(closed)s)
)"""

# Standing and daily sums follow what the ledger took, so they cannot differ from it.
_FAILED_IN_ROW = failures_sql(
    "(CASE WHEN excluded.accepted > 0 THEN 0 ELSE s.failed_in_row END)", "excluded.failed_in_row"
)
_STANDINGS = f"""credited AS (
  INSERT INTO workunits_creditentry (account_id, lab_id, lease_id, kind, flops, created)
  SELECT v.account, v.lab, v.lease, 'verified', v.flops, now()
  FROM unnest(%(c_lease)s::uuid[], %(c_account)s::bigint[], %(c_lab)s::bigint[],
              %(c_flops)s::bigint[]) AS v(lease, account, lab, flops)
  WHERE NOT EXISTS (SELECT 1 FROM research_access_labmember m
                    WHERE m.lab_id = v.lab AND m.account_id = v.account OFFSET 0)
  ON CONFLICT (lease_id, kind) DO NOTHING
  RETURNING account_id, flops,
            (%(c_work)s::text[])[array_position(%(c_lease)s::uuid[], lease_id)] AS work
), earned_by_day AS (
  INSERT INTO workunits_creditday AS d (account_id, day, kind, flops, units)
  SELECT account_id, (now() AT TIME ZONE 'UTC')::date, work, sum(flops), count(*)
  FROM credited GROUP BY account_id, work ORDER BY account_id, work
  ON CONFLICT (account_id, day, kind) DO UPDATE
  SET flops = d.flops + excluded.flops, units = d.units + excluded.units
), earned AS (
  SELECT account_id, sum(flops) AS flops FROM credited GROUP BY account_id
), standings AS (
  INSERT INTO workunits_standing AS s
         (account_id, accepted, rejected, proven, flops, failed_in_row, failed_at)
  SELECT v.account, v.accepted, v.rejected, CASE WHEN v.rejected > 0 THEN 0 ELSE v.accepted END,
         coalesce(e.flops, 0), v.failed, CASE WHEN v.failed > 0 THEN now() END
  FROM unnest(%(s_account)s::bigint[], %(s_accepted)s::bigint[], %(s_rejected)s::bigint[],
              %(s_failed)s::integer[]) AS v(account, accepted, rejected, failed)
  LEFT JOIN earned e ON e.account_id = v.account
  ORDER BY v.account
  ON CONFLICT (account_id) DO UPDATE
  SET accepted = s.accepted + excluded.accepted, rejected = s.rejected + excluded.rejected,
      proven = CASE WHEN excluded.rejected > 0 THEN 0 ELSE s.proven + excluded.accepted END,
      flops = s.flops + excluded.flops, failed_at = coalesce(excluded.failed_at, s.failed_at),
      failed_in_row = {_FAILED_IN_ROW}
)"""  # noqa: S608

_DAYS = """days AS (
  INSERT INTO workunits_labday AS d (lab_id, day, flops, units)
  SELECT v.lab, (now() AT TIME ZONE 'UTC')::date, v.flops, v.units
  FROM unnest(%(d_lab)s::bigint[], %(d_flops)s::float8[], %(d_units)s::bigint[])
       AS v(lab, flops, units)
  ORDER BY v.lab
  ON CONFLICT (lab_id, day) DO UPDATE
  SET flops = d.flops + excluded.flops, units = d.units + excluded.units
)"""

_HOURS = """hours AS (
  INSERT INTO workunits_jobhour AS h
         (job_id, hour, units, flops, input_bytes, output_bytes, put_aside)
  SELECT v.job, date_trunc('hour', now(), 'UTC'), v.units, v.flops, v.input, v.output, v.aside
  FROM unnest(%(h_job)s::bigint[], %(h_units)s::bigint[], %(h_flops)s::numeric[],
              %(h_input)s::numeric[], %(h_output)s::numeric[], %(h_aside)s::bigint[])
       AS v(job, units, flops, input, output, aside)
  ORDER BY v.job
  ON CONFLICT (job_id, hour) DO UPDATE
  SET units = h.units + excluded.units, flops = h.flops + excluded.flops,
      input_bytes = h.input_bytes + excluded.input_bytes,
      output_bytes = h.output_bytes + excluded.output_bytes,
      put_aside = h.put_aside + excluded.put_aside
)"""

_EVENTS = """
INSERT INTO workunits_event (lab_id, job_id, unit_id, lease_id, kind, code, reason)
SELECT * FROM unnest(%(e_lab)s::bigint[], %(e_job)s::bigint[], %(e_unit)s::bigint[],
                     %(e_lease)s::uuid[], %(e_kind)s::text[], %(e_code)s::text[],
                     %(e_reason)s::text[])"""

_PARTS: dict[str, str] = {
    "l_id": _LEASES,
    "r_id": _REPORTS,
    "p_id": _LATE,
    "over": _OVER,
    "gone": _GONE,
    "u_id": _UNITS,
    "o_unit": _OPENED,
    "closed": _CLOSED,
    "s_account": _STANDINGS,
    "d_lab": _DAYS,
    "h_job": _HOURS,
}
"""The array that makes a part needed -> the part. Parts with nothing to do would still cost."""

_ARRAYS = (
    "l_id",
    "l_state",
    "l_code",
    "l_reason",
    "l_outputs",
    "l_host",
    "r_id",
    "r_host",
    "p_id",
    "p_account",
    "p_host",
    "p_lab",
    "p_flops",
    "p_bytes",
    "over",
    "gone",
    "u_id",
    "u_state",
    "u_wanted",
    "u_spared",
    "u_code",
    "u_chosen",
    "o_unit",
    "o_job",
    "o_rank",
    "o_position",
    "o_memory",
    "o_catalogue",
    "closed",
    "c_lease",
    "c_account",
    "c_lab",
    "c_flops",
    "c_work",
    "s_account",
    "s_accepted",
    "s_rejected",
    "s_failed",
    "d_lab",
    "d_flops",
    "d_units",
    "h_job",
    "h_units",
    "h_flops",
    "h_input",
    "h_output",
    "h_aside",
    "e_lab",
    "e_job",
    "e_unit",
    "e_lease",
    "e_kind",
    "e_code",
    "e_reason",
)


@cache
def _statement(needed: tuple[str, ...]) -> str:
    parts = ", ".join(_PARTS[name] for name in needed)
    return f"WITH {parts} {_EVENTS}" if parts else _EVENTS


BLAMELESS_RETURNS = frozenset(
    {"shutting_down", "paused", "reissued", "lease_ended", "lab_unreachable", "removed"}
)
"""Hand-backs that do not slow a host down."""


@dataclass(slots=True)
class Figures:
    """What a batch of changes means for one account."""

    accepted: int = 0
    rejected: int = 0
    failed: int = 0


@dataclass(slots=True)
class Tally:
    """What a batch of changes means for one job."""

    units: int = 0
    flops: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    put_aside: int = 0

    def verified(self, unit: Row) -> None:
        self.units += 1
        self.flops += unit.flops
        self.input_bytes += unit.input_bytes
        self.output_bytes += unit.output_bytes


@dataclass(slots=True)
class Changes:
    """Gathers decisions and writes them; use within one transaction that locked the units."""

    hosts: dict[UUID, int] = field(default_factory=dict)
    """Leases that go on under another host of their account."""
    _touched: dict[int, Held] = field(default_factory=dict)
    _before: dict[int, quorum.Unit] = field(default_factory=dict)
    _leases: dict[UUID, tuple[Held, Copy]] = field(default_factory=dict)
    _was_open: set[UUID] = field(default_factory=set)
    """Leases that were open at first."""
    _actions: list[tuple[Held, quorum.Action]] = field(default_factory=list)

    def happen(self, held: Held, happening: Happening) -> None:
        """Let the machine decide, and remember what it said."""
        before = held.copies
        outcome = quorum.decide(held.unit, list(before.values()), happening)
        self._before.setdefault(held.row.id, held.unit)
        held.unit = outcome.unit
        if outcome.changed or outcome.actions or outcome.unit != self._before[held.row.id]:
            self._touched[held.row.id] = held
        for copy in outcome.changed:
            if copy.lease not in self._leases and before[copy.lease].state is LeaseState.OPEN:
                self._was_open.add(copy.lease)
            held.copies[copy.lease] = copy
            self._leases[copy.lease] = (held, copy)
        self._actions += [(held, action) for action in outcome.actions]

    def write(self) -> None:
        """Write everything."""
        if statements := self.statements():
            together(statements)

    def statements(self) -> list[Query]:
        """What writes everything: one statement, or two where a lease stops to count."""
        if not self._touched:
            return []
        gone = [
            (held, copy) for held, copy in self._leases.values() if copy.state not in quorum.COUNTED
        ]
        # First, so that the account's other lease on the unit may take the place.
        first = [query(_UNCOUNT, _uncounted(gone))] if gone else []
        arrays: dict[str, Any] = {name: [] for name in _ARRAYS}
        self._lease_rows(arrays)
        self._unit_rows(arrays)
        self._ledger_rows(arrays)
        self._hour_rows(arrays)
        self._event_rows(arrays)
        needed = tuple(name for name in _PARTS if arrays[name])
        arrays["lapse"] = limits.REPORT_LIFETIME_S
        return [*first, query(_statement(needed), arrays)]

    def _lease_rows(self, arrays: dict[str, list[Any]]) -> None:
        for held, copy in self._leases.values():
            if copy.state in quorum.COUNTED:
                self._counted(arrays, copy)
            if copy.state is LeaseState.REPORTED:
                self._reported(arrays, held, copy)
            elif copy.state is LeaseState.EXPIRED or _handed_back(copy):
                arrays["gone"].append(copy.lease)
            elif copy.state is not LeaseState.OPEN:
                arrays["over"].append(copy.lease)

    def _counted(self, arrays: dict[str, list[Any]], copy: Copy) -> None:
        arrays["l_id"].append(copy.lease)
        arrays["l_state"].append(copy.state.value)
        arrays["l_code"].append(copy.code)
        arrays["l_reason"].append(copy.reason)
        arrays["l_outputs"].append(None if copy.outputs is None else ",".join(copy.outputs))
        arrays["l_host"].append(self.hosts.get(copy.lease, copy.host))

    def _reported(self, arrays: dict[str, list[Any]], held: Held, copy: Copy) -> None:
        if copy.lease in self._was_open:
            arrays["r_id"].append(copy.lease)
            arrays["r_host"].append(self.hosts.get(copy.lease, copy.host))
            return
        arrays["p_id"].append(copy.lease)
        arrays["p_account"].append(copy.account)
        arrays["p_host"].append(self.hosts.get(copy.lease, copy.host))
        arrays["p_lab"].append(held.row.lab_id)
        arrays["p_flops"].append(held.row.flops)
        arrays["p_bytes"].append(held.row.output_bytes)

    def _unit_rows(self, arrays: dict[str, list[Any]]) -> None:
        for held in self._touched.values():
            unit, row = held.unit, held.row
            if unit != self._before[row.id]:
                arrays["u_id"].append(row.id)
                arrays["u_state"].append(unit.state.value)
                arrays["u_wanted"].append(unit.wanted)
                arrays["u_spared"].append(unit.spared)
                arrays["u_code"].append(unit.code)
                arrays["u_chosen"].append(unit.chosen)
            if unit.wanted:
                self._opening(arrays, held)
            elif self._before[row.id].wanted:
                arrays["closed"].append(row.id)

    @staticmethod
    def _opening(arrays: dict[str, list[Any]], held: Held) -> None:
        arrays["o_unit"].append(held.row.id)
        arrays["o_job"].append(held.row.job_id)
        arrays["o_rank"].append(quorum.rank(held.copies.values()))
        arrays["o_position"].append(held.row.position)
        arrays["o_memory"].append(held.row.memory)
        arrays["o_catalogue"].append(held.row.catalogue)

    def _ledger_rows(self, arrays: dict[str, list[Any]]) -> None:
        figures: dict[int, Figures] = defaultdict(Figures)
        days: dict[int, tuple[float, int]] = {}
        for held, action in self._actions:
            copy = action.copy
            if action.deed is Deed.ACCEPTED:
                flops, units = days.get(held.row.lab_id, (0.0, 0))
                days[held.row.lab_id] = (flops + held.row.flops, units + 1)
            if copy is not None:
                _count(figures[copy.account], action.deed, copy)
            if action.deed is Deed.CREDITED and copy is not None:
                arrays["c_lease"].append(copy.lease)
                arrays["c_account"].append(copy.account)
                arrays["c_lab"].append(held.row.lab_id)
                arrays["c_flops"].append(held.row.flops)
                arrays["c_work"].append(held.row.job_kind)
        _figure_rows(arrays, figures, days)

    def _hour_rows(self, arrays: dict[str, list[Any]]) -> None:
        tallies: dict[int, Tally] = defaultdict(Tally)
        for held in self._touched.values():
            before, after = self._before[held.row.id].state, held.unit.state
            if after is UnitState.ACCEPTED is not before:
                tallies[held.row.job_id].verified(held.row)
            aside = (after is UnitState.QUARANTINED) - (before is UnitState.QUARANTINED)
            if aside:
                tallies[held.row.job_id].put_aside += aside
        for job, each in sorted(tallies.items()):
            arrays["h_job"].append(job)
            arrays["h_units"].append(each.units)
            arrays["h_flops"].append(each.flops)
            arrays["h_input"].append(each.input_bytes)
            arrays["h_output"].append(each.output_bytes)
            arrays["h_aside"].append(each.put_aside)

    def _event_rows(self, arrays: dict[str, list[Any]]) -> None:
        for held, action in self._actions:
            kind = EVENTS.get(action.deed)
            if kind is None:
                continue
            arrays["e_lab"].append(held.row.lab_id)
            arrays["e_job"].append(held.row.job_id)
            arrays["e_unit"].append(held.row.id)
            arrays["e_lease"].append(None if action.copy is None else action.copy.lease)
            arrays["e_kind"].append(kind)
            arrays["e_code"].append("lapsed" if action.deed is Deed.LAPSED else action.code)
            arrays["e_reason"].append(action.reason)


def _uncounted(gone: Sequence[tuple[Held, Copy]]) -> dict[str, list[Any]]:
    copies = [copy for _, copy in gone]
    return {
        "lease": [copy.lease for copy in copies],
        "state": [copy.state.value for copy in copies],
        "code": [copy.code for copy in copies],
        "reason": [copy.reason for copy in copies],
    }


def _handed_back(copy: Copy) -> bool:
    """The host itself gave the lease back: it need not be told."""
    return copy.state is LeaseState.RETURNED and copy.judgement is None


def _count(figures: Figures, deed: Deed, copy: Copy) -> None:
    if deed is Deed.CREDITED:
        figures.accepted += 1
        figures.failed = 0
    elif deed is Deed.BLAMED:
        figures.rejected += 1
        figures.failed += 1
    elif deed is Deed.EXPIRED or (deed is Deed.RETURNED and copy.code not in BLAMELESS_RETURNS):
        figures.failed += 1


def _figure_rows(
    arrays: dict[str, list[Any]],
    figures: dict[int, Figures],
    days: dict[int, tuple[float, int]],
) -> None:
    for account, each in sorted(figures.items()):
        if each.accepted or each.rejected or each.failed:
            arrays["s_account"].append(account)
            arrays["s_accepted"].append(each.accepted)
            arrays["s_rejected"].append(each.rejected)
            arrays["s_failed"].append(min(each.failed, limits.PATIENCE))
    for lab, (flops, units) in sorted(days.items()):
        arrays["d_lab"].append(lab)
        arrays["d_flops"].append(flops)
        arrays["d_units"].append(units)
