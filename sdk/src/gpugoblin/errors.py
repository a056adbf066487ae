"""What goes wrong, as exceptions: each has a `code`, a sentence in `detail`, and `facts`.

Every class of `goblin_wire.problems` is here; they are the same on every machine of the network.
`GoblinError` catches them all. A few also are what Python and numpy would raise:
`NotReady` is a `TimeoutError`, `NotComputed` and `DtypeUnsupported` are `TypeError`s,
`ShapeMismatch` is a `ValueError`.
"""

from __future__ import annotations

from goblin_wire import problems
from goblin_wire.problems import (
    PROBLEMS,
    AccountSuspended,
    BadArray,
    BadCertificate,
    BadGraph,
    BadMessage,
    BadReply,
    CapabilityExpired,
    CapabilityForeign,
    CapabilityInvalid,
    Conflict,
    CopiedHost,
    DigestMismatch,
    DiskFull,
    EndpointRefused,
    EndpointUnreachable,
    FileChanged,
    FileMissing,
    FileTruncated,
    FileUnreadable,
    HostRemoved,
    Internal,
    JobCancelled,
    JobFailed,
    LeaseEnded,
    LengthRequired,
    MemoryTooSmall,
    MethodNotAllowed,
    NotAllowed,
    NotFound,
    NotJson,
    OffsetMismatch,
    OutputExists,
    PathOutsideRoots,
    Problem,
    QuotaExceeded,
    RateLimited,
    ResultExpired,
    SignInDenied,
    SignInExpired,
    SignInPending,
    StorageFailed,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TooLarge,
    Unavailable,
    UnknownArray,
    UnknownBlob,
    UnknownJob,
    UnknownLab,
    UnknownLease,
    UnknownUnit,
    Unreachable,
    UnsupportedComputation,
    UnsupportedMedia,
    UnsupportedProtocol,
    WrongLength,
    WrongScope,
)

GoblinError = Problem
"""Everything that this package raises."""

LabError = BadReply
"""The lab node answered something that is not part of the protocol: status and beginning of it."""


class NotReady(problems.NotReady, TimeoutError):
    """The job is not done yet."""


class ShapeMismatch(problems.ShapeMismatch, ValueError):
    """The shapes do not fit together."""


class DtypeUnsupported(problems.DtypeUnsupported, TypeError):
    """This element type cannot be computed."""


class NotComputed(UnsupportedComputation, TypeError):
    """The array is a description of a computation; its numbers are not there."""


_NARROWER: dict[str, type[Problem]] = {
    kind.code: kind for kind in (NotReady, ShapeMismatch, DtypeUnsupported)
}


def typed(problem: Problem) -> Problem:
    """The same problem as the class that this package raises for its code."""
    kind = _NARROWER.get(problem.code)
    if kind is None or isinstance(problem, kind):
        return problem
    return kind(problem.detail, retry_after=problem.retry_after, **problem.facts)


__all__ = [
    "PROBLEMS",
    "AccountSuspended",
    "BadArray",
    "BadCertificate",
    "BadGraph",
    "BadMessage",
    "BadReply",
    "CapabilityExpired",
    "CapabilityForeign",
    "CapabilityInvalid",
    "Conflict",
    "CopiedHost",
    "DigestMismatch",
    "DiskFull",
    "DtypeUnsupported",
    "EndpointRefused",
    "EndpointUnreachable",
    "FileChanged",
    "FileMissing",
    "FileTruncated",
    "FileUnreadable",
    "GoblinError",
    "HostRemoved",
    "Internal",
    "JobCancelled",
    "JobFailed",
    "LabError",
    "LeaseEnded",
    "LengthRequired",
    "MemoryTooSmall",
    "MethodNotAllowed",
    "NotAllowed",
    "NotComputed",
    "NotFound",
    "NotJson",
    "NotReady",
    "OffsetMismatch",
    "OutputExists",
    "PathOutsideRoots",
    "Problem",
    "QuotaExceeded",
    "RateLimited",
    "ResultExpired",
    "ShapeMismatch",
    "SignInDenied",
    "SignInExpired",
    "SignInPending",
    "StorageFailed",
    "TokenExpired",
    "TokenInvalid",
    "TokenMissing",
    "TooLarge",
    "Unavailable",
    "UnknownArray",
    "UnknownBlob",
    "UnknownJob",
    "UnknownLab",
    "UnknownLease",
    "UnknownUnit",
    "Unreachable",
    "UnsupportedComputation",
    "UnsupportedMedia",
    "UnsupportedProtocol",
    "WrongLength",
    "WrongScope",
    "typed",
]
