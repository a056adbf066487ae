"""What can stop the program itself; troubles of one unit travel as codes."""

from __future__ import annotations


class ClientError(Exception):
    """The program cannot go on. `status` is its exit code."""

    status = 1


class NotJoined(ClientError):
    """This machine has not joined a site; run `goblin-client join` first."""


class OtherRun(ClientError):
    """Another process works in this state directory."""


class Refused(ClientError):
    """The site does not accept this volunteer."""

    status = 3


class HandBack(Exception):
    """A unit that this client will not compute. `code` and `detail` go to the site."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
