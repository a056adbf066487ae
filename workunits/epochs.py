"""The site's epoch: it changes when the database was restored, and labs then repeat themselves."""

from __future__ import annotations

import uuid

from workunits.database import row, run


def current_epoch() -> str:
    """The epoch's id; made at the first use."""
    found = row("SELECT epoch FROM workunits_siteepoch WHERE id = 1")
    if found is None:
        run(
            "INSERT INTO workunits_siteepoch (id, epoch, since) VALUES (1, %(epoch)s, now())"
            " ON CONFLICT (id) DO NOTHING",
            {"epoch": uuid.uuid4()},
        )
        return current_epoch()
    return str(found.epoch.hex)


def new_epoch() -> str:
    """Begin another epoch; every cursor of before is reset at its next use."""
    current_epoch()
    run("UPDATE workunits_siteepoch SET epoch = %(epoch)s, since = now()", {"epoch": uuid.uuid4()})
    return current_epoch()
