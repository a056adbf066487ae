"""The tables. A *run* is one attempt at a job; its id is what the site knows as the job."""

from __future__ import annotations

VERSION = 2

TABLES = """
CREATE TABLE arrays (
    id TEXT PRIMARY KEY,
    root TEXT NOT NULL,            -- of the lab, or @arrays for an uploaded one
    path TEXT NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    descr TEXT NOT NULL,           -- dtype as stored, with byte order
    shape TEXT NOT NULL,           -- JSON
    fortran INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    used_at REAL NOT NULL,
    parts TEXT NOT NULL DEFAULT '',        -- digest over many files
    form TEXT NOT NULL DEFAULT '{}'        -- JSON of goblin_labnode.opening.Form
) STRICT;

CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    name TEXT NOT NULL,
    phase TEXT NOT NULL,           -- goblin_labnode.phases.Phase
    code TEXT NOT NULL, reason TEXT NOT NULL, cause TEXT NOT NULL,
    phase_at REAL NOT NULL,
    submitted_at REAL NOT NULL,
    finished_at REAL,
    request TEXT NOT NULL,         -- JSON of goblin_labnode.requests.Request
    plan TEXT NOT NULL,            -- JSON of the plan
    secret BLOB NOT NULL,          -- 32 bytes, the source of the check vectors
    output TEXT NOT NULL,          -- JSON of goblin_labnode.output.Output
    bytes_down INTEGER NOT NULL DEFAULT 0,
    bytes_up INTEGER NOT NULL DEFAULT 0,
    check_seconds REAL NOT NULL DEFAULT 0,
    blind_spot TEXT NOT NULL DEFAULT '',
    UNIQUE (job, attempt)
) STRICT;
CREATE INDEX runs_by_name ON runs (name, submitted_at);

CREATE TABLE panels (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    operand TEXT NOT NULL, block INTEGER NOT NULL, slice INTEGER NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (run, operand, block, slice)
) STRICT, WITHOUT ROWID;

CREATE TABLE units (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    number INTEGER NOT NULL,       -- index of the tile in the plan
    unit TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,           -- planned, ready, registered, verified
    manifest TEXT,                 -- digest
    flops INTEGER NOT NULL,
    quarantine TEXT,               -- the site's reason while nobody may take it
    part INTEGER,                  -- 1, 2, ... in the order of verification
    lease TEXT,
    repaired_rows INTEGER NOT NULL DEFAULT 0,
    verified_at REAL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX parts ON units (run, part) WHERE part IS NOT NULL;

CREATE TABLE leases (
    lease TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    unit TEXT NOT NULL,
    volunteer TEXT NOT NULL,
    device_class TEXT NOT NULL,
    state TEXT NOT NULL,           -- goblin_labnode.leases.LeasePhase
    code TEXT NOT NULL DEFAULT 'ok', reason TEXT NOT NULL DEFAULT '',
    capability TEXT,
    digest TEXT,                   -- announced by the upload
    verdict TEXT,                  -- JSON of the verdict that was given
    residual REAL,
    seen_at REAL NOT NULL
) STRICT;
CREATE INDEX leases_by_run ON leases (run, unit);

CREATE TABLE generations (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    block INTEGER NOT NULL,        -- column block
    generation INTEGER NOT NULL,   -- of its check vectors
    rejections INTEGER NOT NULL,
    PRIMARY KEY (run, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    kind TEXT NOT NULL,            -- job, unit, verdict, action
    subject TEXT NOT NULL,         -- '', unit, lease or action
    body TEXT NOT NULL             -- JSON; empty for units, which are made from their row
) STRICT;
CREATE INDEX outbox_by_run ON outbox (run, id);

CREATE TABLE memory (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

UPGRADES = {
    1: """
ALTER TABLE arrays ADD COLUMN parts TEXT NOT NULL DEFAULT '';
ALTER TABLE arrays ADD COLUMN form TEXT NOT NULL DEFAULT '{}';
UPDATE arrays SET form = '{"kind":"raw"}' WHERE root = '@arrays';
""",
}
"""What makes the tables of the next version out of those of a version."""
