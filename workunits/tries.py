"""How often an account may have a lease on the same unit."""

from __future__ import annotations

from workunits import limits

WISHES = ("shutting_down", "paused", "removed")
"""Codes of hand-backs because the person at the machine wished so."""
_EVERY = limits.HAND_BACKS_PER_LEASE
_MOST = limits.MAX_LEASES_PER_ACCOUNT_AND_UNIT * _EVERY


def may_take_sql(unit: str, account: str) -> str:
    """SQL that says whether `account` may have one more lease on `unit` (two expressions).

    Not while one of its leases counts; else until three came to nothing within a day: in a small
    network a unit must not be lost because everybody tried thrice. A machine that is switched off
    now and then does not use up its tries: what a person's wish handed back weighs little.
    """
    codes = ", ".join(f"'{code}'" for code in WISHES)
    # OFFSET 0 keeps the planner from turning the question into a join over all leases; asked per
    # row it is one look into (unit, account).
    return f"""(
  SELECT coalesce(sum(CASE WHEN t.counts THEN {_MOST}
                           WHEN t.created < now() - make_interval(secs => {limits.FORGIVEN_S})
                             THEN 0
                           WHEN t.state = 'returned' AND t.code IN ({codes}) THEN 1
                           ELSE {_EVERY} END), 0) < {_MOST}
  FROM (SELECT l.counts, l.state, l.code, l.created FROM workunits_lease l
        WHERE l.unit_id = {unit} AND l.account_id = {account} OFFSET 0) t)"""  # noqa: S608
