"""Who contributed most, of those who chose to be named; the others are a number."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock

from accounts.text import fold
from workunits.database import row, rows
from workunits.pages.paging import Pages

PAGE = 50
FRESH_S = 60.0
"""So long the number of the unnamed may be old: finding it looks at every account."""

# As `accounts.text.fold` does it: no case, no marks, and the one letter that is no mark.
_FOLDED = r"""translate(regexp_replace(normalize(lower(p.shown_name), NFD),
                                '[\u0300-\u036f]', '', 'g'), 'đ', 'd')"""

_NAMED = """
FROM accounts_person p
JOIN accounts_account a ON a.id = p.account_id AND a.state = 'active'
JOIN workunits_standing s ON s.account_id = p.account_id AND s.flops > 0
WHERE p.shown_name <> ''"""

_COUNT = f"""
SELECT count(*) AS named {_NAMED} AND (%(name)s = '' OR {_FOLDED} LIKE %(pattern)s)"""

# Places are counted among all that are named, so that a search does not move anybody.
_RANKED = f"""
WITH ranked AS MATERIALIZED (
  SELECT p.account_id, p.shown_name, {_FOLDED} AS folded,
         rank() OVER (ORDER BY s.flops DESC) AS place {_NAMED}
), chosen AS MATERIALIZED (
  SELECT * FROM ranked WHERE %(name)s = '' OR folded LIKE %(pattern)s
  ORDER BY place, account_id LIMIT %(limit)s OFFSET %(offset)s
)
SELECT c.account_id, c.shown_name, c.place, d.units, d.flops
FROM chosen c CROSS JOIN LATERAL (
  SELECT coalesce(sum(units), 0)::bigint AS units, coalesce(sum(flops), 0) AS flops
  FROM workunits_creditday x WHERE x.account_id = c.account_id) d
ORDER BY c.place, c.account_id"""  # noqa: S608

_CONTRIBUTORS = "SELECT count(*) AS accounts FROM workunits_standing WHERE flops > 0"

_lock = Lock()
_contributors: tuple[float, int] | None = None
"""Until when (monotonic seconds) it is fresh, and the number."""


@dataclass(frozen=True, slots=True)
class Leader:
    """One who is named. `flops` are exact."""

    place: int
    account: int
    name: str
    units: int
    flops: int


def leader_pages(name: str = "") -> Pages:
    """Those who are named, the largest sums first; `name` keeps those that contain it."""
    folded = fold(name)
    search = {"name": folded, "pattern": f"%{_literally(folded)}%"}

    def count() -> int:
        found = row(_COUNT, search)
        return 0 if found is None else int(found.named)

    def read(limit: int, offset: int) -> list[Leader]:
        found = rows(_RANKED, {**search, "limit": limit, "offset": offset})
        return [
            Leader(each.place, each.account_id, each.shown_name, each.units, int(each.flops))
            for each in found
        ]

    return Pages(PAGE, count, read)


def unnamed() -> int:
    """How many more contributed and are not named."""
    named = row(_COUNT, {"name": "", "pattern": "%"})
    return max(0, _all() - (0 if named is None else int(named.named)))


def _all() -> int:
    global _contributors
    now = time.monotonic()
    with _lock:
        known = _contributors
    if known is not None and now < known[0]:
        return known[1]
    found = row(_CONTRIBUTORS)
    number = 0 if found is None else int(found.accounts)
    with _lock:
        _contributors = (now + FRESH_S, number)
    return number


def _literally(text: str) -> str:
    """The text as `LIKE` takes it: its own signs mean themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
