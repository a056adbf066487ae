"""What can stop the program itself; troubles of one unit travel as codes."""

from __future__ import annotations

import errno

CLIENT_FAILED = "client_failed"
"""Code of a lease handed back for a trouble of this machine that says nothing about the unit."""
DISK_FULL = "disk_full"


def disk_code(error: OSError) -> str:
    """The code for a lease that the disk, or the system, did not let us finish."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return DISK_FULL if full else CLIENT_FAILED


class ClientError(Exception):
    """The program cannot go on. `status` is its exit code."""

    status = 1


class NotJoined(ClientError):
    """This machine has not joined a site; run `goblin-client join` first."""


class StateDamaged(ClientError):
    """What the state directory holds cannot be read."""


class OtherRun(ClientError):
    """Another process works in this state directory."""


class Refused(ClientError):
    """The site does not accept this volunteer."""

    status = 3


class Unwanted(Exception):
    """The lease was dropped while something of it was on the way."""


class HandBack(Exception):
    """A unit that this client will not compute. `code` and `detail` go to the site."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
