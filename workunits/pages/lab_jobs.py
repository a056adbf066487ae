"""The jobs of a lab as its members see them: sizes and states, but no names: the site has none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from workunits.database import Row, row, rows
from workunits.pages import words
from workunits.pages.job_states import JobFacts, JobStanding, LabFacts, standing_of
from workunits.pages.paging import Pages

PAGE = 25

_COUNT = "SELECT count(*) AS jobs FROM workunits_job WHERE lab_id = %(lab)s"

_JOBS = """
WITH chosen AS MATERIALIZED (
  SELECT id, uid, kind, units, registered, flops, grade, state, code, reason, created, closed
  FROM workunits_job WHERE lab_id = %(lab)s ORDER BY id DESC LIMIT %(limit)s OFFSET %(offset)s
), in_hand AS MATERIALIZED (
  SELECT u.job_id, count(*) FILTER (WHERE p.open) AS open,
         count(*) FILTER (WHERE NOT p.open) AS reported
  FROM workunits_pendinglease p
  JOIN workunits_lease l ON l.id = p.lease_id JOIN workunits_unit u ON u.id = l.unit_id
  WHERE p.lab_id = %(lab)s AND p.live GROUP BY u.job_id
)
SELECT c.*, coalesce(h.open, 0) AS open, coalesce(h.reported, 0) AS reported,
       t.verified, t.verified_flops, t.input_bytes, t.output_bytes, t.put_aside,
       (SELECT o.memory FROM workunits_opening o WHERE o.job_id = c.id
        ORDER BY o.memory LIMIT 1) AS memory,
       now() AS now
FROM chosen c
LEFT JOIN in_hand h ON h.job_id = c.id
CROSS JOIN LATERAL (
  SELECT coalesce(sum(units), 0)::bigint AS verified, coalesce(sum(flops), 0) AS verified_flops,
         coalesce(sum(input_bytes), 0) AS input_bytes,
         coalesce(sum(output_bytes), 0) AS output_bytes,
         coalesce(sum(put_aside), 0)::bigint AS put_aside
  FROM workunits_jobhour x WHERE x.job_id = c.id) t
ORDER BY c.id DESC"""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job. Bytes are upper bounds: what its verified units read and gave."""

    uid: UUID
    kind: words.Text
    units: int
    verified: int
    flops: int
    verified_flops: int
    in_hand: int
    reported: int
    put_aside: int
    input_bytes: int
    output_bytes: int
    created: datetime
    closed: datetime | None
    standing: JobStanding

    @property
    def name(self) -> str:
        return self.uid.hex[:8]


def job_pages(lab: LabFacts) -> Pages:
    """The jobs of a lab, the newest first."""

    def count() -> int:
        found = row(_COUNT, {"lab": lab.id})
        return 0 if found is None else int(found.jobs)

    def read(limit: int, offset: int) -> list[JobLine]:
        found = rows(_JOBS, {"lab": lab.id, "limit": limit, "offset": offset})
        return [_line(each, lab) for each in found]

    return Pages(PAGE, count, read)


def _line(job: Row, lab: LabFacts) -> JobLine:
    facts = JobFacts(
        state=job.state,
        code=job.code,
        reason=job.reason,
        created=job.created,
        closed=job.closed,
        units=job.units,
        registered=job.registered,
        verified=job.verified,
        in_hand=job.open,
        reported=job.reported,
        put_aside=job.put_aside,
        memory=job.memory,
    )
    return JobLine(
        uid=job.uid,
        kind=words.kind(job.kind),
        units=job.units,
        verified=job.verified,
        flops=job.flops,
        verified_flops=int(job.verified_flops),
        in_hand=job.open,
        reported=job.reported,
        put_aside=job.put_aside,
        input_bytes=int(job.input_bytes),
        output_bytes=int(job.output_bytes),
        created=job.created,
        closed=job.closed,
        standing=standing_of(facts, lab),
    )
