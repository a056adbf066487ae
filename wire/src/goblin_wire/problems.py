"""The table of errors: one class per code, the same on every machine.

Over HTTP an error is `application/problem+json` (RFC 9457). Its class docstring is the default
sentence; the sentence says what happened and, where it helps, what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from goblin_wire.fields import printable

PROBLEM_JSON = "application/problem+json"
TYPE_PREFIX = "https://gpugoblin.com/problems/"
MAX_DETAIL = 2000
LONGEST_RETRY_AFTER_S = 24 * 3600.0


class Problem(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(
        self, detail: str | None = None, *, retry_after: float | None = None, **facts: Any
    ) -> None:
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.retry_after = retry_after
        self.facts = facts
        super().__init__(self.detail)

    def to_dict(self) -> dict[str, Any]:
        """The members of the problem+json object."""
        body: dict[str, Any] = {
            "type": TYPE_PREFIX + self.code,
            "title": self.code.replace("_", " "),
            "status": self.status,
            "detail": self.detail[:MAX_DETAIL],
            "code": self.code,
        }
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        if self.facts:
            body["facts"] = self.facts
        return body

    def to_bytes(self) -> bytes:
        return msgspec.json.encode(self.to_dict())


# --- the message itself ---
class NotJson(Problem):
    """The body is not valid JSON."""

    code, status = "not_json", 400


class BadMessage(Problem):
    """The message does not have the expected form."""

    code, status = "bad_message", 400


class TooLarge(Problem):
    """The body is larger than allowed."""

    code, status = "too_large", 413


class LengthRequired(Problem):
    """The request must state the length of its body."""

    code, status = "length_required", 411


class WrongLength(Problem):
    """The body does not have the announced length."""

    code, status = "wrong_length", 422


class UnsupportedProtocol(Problem):
    """The sender speaks a protocol version that this end does not understand."""

    code, status = "unsupported_protocol", 426


class UnsupportedMedia(Problem):
    """The body has a content type that is not accepted here."""

    code, status = "unsupported_media", 415


class NotFound(Problem):
    """There is nothing at this address."""

    code, status = "not_found", 404


class MethodNotAllowed(Problem):
    """This address does not accept this method."""

    code, status = "method_not_allowed", 405


class RateLimited(Problem):
    """Too many requests; try again later."""

    code, status = "rate_limited", 429


class Unavailable(Problem):
    """The service cannot answer right now; try again later."""

    code, status = "unavailable", 503


class Internal(Problem):
    """The service failed in a way that it did not foresee; the failure was logged."""

    code, status = "internal", 500


# --- who asks ---
class TokenMissing(Problem):
    """A token is needed: send `Authorization: Bearer TOKEN`."""

    code, status = "token_missing", 401


class TokenInvalid(Problem):
    """The token is not known; sign in again."""

    code, status = "token_invalid", 401


class TokenExpired(Problem):
    """The token has expired or was revoked; sign in again."""

    code, status = "token_expired", 401


class WrongScope(Problem):
    """The token is valid, but not for this; use a token of the right kind."""

    code, status = "wrong_scope", 403


class AccountSuspended(Problem):
    """The account is suspended; write to contact@gpugoblin.com."""

    code, status = "account_suspended", 403


class NotAllowed(Problem):
    """The account may not do this."""

    code, status = "not_allowed", 403


class CapabilityInvalid(Problem):
    """The capability is missing, damaged or not signed by the site."""

    code, status = "capability_invalid", 403


class CapabilityExpired(Problem):
    """The capability has expired."""

    code, status = "capability_expired", 403


class CapabilityForeign(Problem):
    """The capability is valid, but for another lab, lease or blob."""

    code, status = "capability_foreign", 403


# --- sign-in of programs ---
class SignInPending(Problem):
    """Nobody has confirmed this code yet."""

    code, status = "sign_in_pending", 428


class SignInDenied(Problem):
    """The sign-in was denied by the person who was asked."""

    code, status = "sign_in_denied", 403


class SignInExpired(Problem):
    """The code has expired or was used; start the sign-in again."""

    code, status = "sign_in_expired", 410


# --- things that are not there, or not yours (both answer the same) ---
class UnknownJob(Problem):
    """There is no such job."""

    code, status = "unknown_job", 404


class UnknownUnit(Problem):
    """There is no such unit."""

    code, status = "unknown_unit", 404


class UnknownLease(Problem):
    """There is no such lease."""

    code, status = "unknown_lease", 404


class UnknownLab(Problem):
    """There is no such lab."""

    code, status = "unknown_lab", 404


class UnknownBlob(Problem):
    """There is no such blob."""

    code, status = "unknown_blob", 404


class UnknownArray(Problem):
    """There is no such array; open or upload it again."""

    code, status = "unknown_array", 404


# --- conversation ---
class Conflict(Problem):
    """The same id was used before for something else."""

    code, status = "conflict", 409


class CopiedHost(Problem):
    """This state directory seems to be a copy: take a new host id."""

    code, status = "copied_host", 409


class LeaseEnded(Problem):
    """The lease has ended; nothing more is taken for it."""

    code, status = "lease_ended", 410


class HostRemoved(Problem):
    """This machine was removed on the site; join again to lend it again."""

    code, status = "host_removed", 410


class OffsetMismatch(Problem):
    """The bytes do not continue where the upload stands; see `received`."""

    code, status = "offset_mismatch", 409


class DigestMismatch(Problem):
    """The bytes do not have the announced digest; send them again from the start."""

    code, status = "digest_mismatch", 422


class QuotaExceeded(Problem):
    """The quota of the lab is used up for today."""

    code, status = "quota_exceeded", 403


class EndpointRefused(Problem):
    """The address of the lab node is not one that may be used."""

    code, status = "endpoint_refused", 422


class EndpointUnreachable(Problem):
    """The lab node could not be reached at its address."""

    code, status = "endpoint_unreachable", 502


# --- data at the lab node ---
class PathOutsideRoots(Problem):
    """The path is not inside a folder that this lab node was told to use."""

    code, status = "path_outside_roots", 403


class FileMissing(Problem):
    """There is no such file."""

    code, status = "file_missing", 404


class FileUnreadable(Problem):
    """The file cannot be read."""

    code, status = "file_unreadable", 422


class BadArray(Problem):
    """The file is not an array that can be opened."""

    code, status = "bad_array", 422


class FileTruncated(Problem):
    """The file is shorter than its header says."""

    code, status = "file_truncated", 422


class FileChanged(Problem):
    """The file was changed while the job was using it."""

    code, status = "file_changed", 409


class OutputExists(Problem):
    """The output file exists already; choose another name or remove it."""

    code, status = "output_exists", 409


class DiskFull(Problem):
    """There is not enough room on the disk."""

    code, status = "disk_full", 507


class StorageFailed(Problem):
    """The disk reported an error."""

    code, status = "storage_failed", 500


# --- computations ---
class ShapeMismatch(Problem):
    """The shapes do not fit together."""

    code, status = "shape_mismatch", 422


class DtypeUnsupported(Problem):
    """This element type cannot be computed."""

    code, status = "dtype_unsupported", 422


class BadGraph(Problem):
    """The graph is not valid."""

    code, status = "bad_graph", 422


class UnsupportedComputation(Problem):
    """This lab node cannot plan this computation."""

    code, status = "unsupported_computation", 422


class MemoryTooSmall(Problem):
    """No plan fits the memory of the volunteers."""

    code, status = "memory_too_small", 422


class NotReady(Problem):
    """The job is not done yet."""

    code, status = "not_ready", 409


class ResultExpired(Problem):
    """The result is no longer kept."""

    code, status = "result_expired", 410


class JobFailed(Problem):
    """The job has failed."""

    code, status = "job_failed", 409


class JobCancelled(Problem):
    """The job was cancelled."""

    code, status = "job_cancelled", 409


# --- this end ---
class Unreachable(Problem):
    """The other end cannot be reached."""

    code, status = "unreachable", 503


class BadReply(Problem):
    """The other end answered something that is not part of the protocol."""

    code, status = "bad_reply", 502


class BadCertificate(Problem):
    """The certificate of the other end is not the expected one."""

    code, status = "bad_certificate", 502


def _subclasses(kind: type[Problem]) -> dict[str, type[Problem]]:
    return {sub.code: sub for sub in kind.__subclasses__()}


PROBLEMS: dict[str, type[Problem]] = _subclasses(Problem)
"""Every code with its class."""


def problem_from_dict(body: dict[str, Any], status: int) -> Problem:
    """The exception for a problem+json object; an unknown code becomes `BadReply`."""
    kind = PROBLEMS.get(str(body.get("code")))
    detail = printable(str(body.get("detail") or body.get("title") or ""))[:MAX_DETAIL]
    if kind is None:
        return BadReply(f"Status {status}: {detail or 'no explanation was given'}", status=status)
    facts = body.get("facts")
    return kind(
        detail or None,
        retry_after=_wait(body.get("retry_after")),
        **_facts(facts if isinstance(facts, dict) else {}),
    )


def problem_from_response(status: int, content_type: str, body: bytes) -> Problem:
    """The exception for an HTTP reply with an error status, whatever its body is."""
    if PROBLEM_JSON in content_type or "application/json" in content_type:
        try:
            parsed = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            return problem_from_dict(parsed, status)
    start = printable(body[:800].decode("utf-8", "replace"))[:200]
    return BadReply(f"Status {status}, not in the form of this protocol: {start}", status=status)


def _wait(value: Any) -> float | None:
    if not isinstance(value, int | float):
        return None
    return min(max(float(value), 0.0), LONGEST_RETRY_AFTER_S)


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    reserved = {"self", "detail", "retry_after"}
    return {key: value for key, value in facts.items() if key not in reserved}
