"""What goes wrong, as exceptions: each has a `code`, a sentence in `detail`, and `facts`.

Every class of `goblin_wire.problems` is here; they are the same on every machine of the network.
`GoblinError` catches them all. A few also are what Python and numpy would raise:
`NotReady` is a `TimeoutError`, `NotComputed` and `DtypeUnsupported` are `TypeError`s,
`ShapeMismatch` and `BadArgument` are `ValueError`s, `IndexOutOfRange` is an `IndexError`,
`BadAxis` is both, and
`ComputationFailed` an `ArithmeticError`; the last three are raised in this process only.
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


class BadArgument(Problem, ValueError):
    """An argument is not one that this function takes."""

    code, status = "bad_argument", 400


class BadAxis(BadArgument, IndexError):
    """The array has no such axis."""


class IndexOutOfRange(Problem, IndexError):
    """The array has no element of this index."""

    code, status = "index_out_of_range", 400


class ComputationFailed(Problem, ArithmeticError):
    """The numbers do not allow what was asked.

    `facts`: `operator`, `line` (file:line where it was written) and `reason`, the operator's own
    code: `index_out_of_range`, `division_by_zero`, `negative_shift` and others.
    """

    code, status = "computation_failed", 422


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
    "BadArgument",
    "BadArray",
    "BadAxis",
    "BadCertificate",
    "BadGraph",
    "BadMessage",
    "BadReply",
    "CapabilityExpired",
    "CapabilityForeign",
    "CapabilityInvalid",
    "ComputationFailed",
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
    "IndexOutOfRange",
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
