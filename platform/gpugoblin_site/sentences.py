"""The sentences of problems, in the reader's language.

Programs say them in English, with details that only they know. A page in English shows what was
said; in another language it shows what the code means, which is all that can be translated.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.problems import Problem, RateLimited

SENTENCES: dict[str, Promise] = {
    "not_json": _("The body is not valid JSON."),
    "bad_message": _("The message does not have the expected form."),
    "too_large": _("The body is larger than allowed."),
    "length_required": _("The request must state the length of its body."),
    "wrong_length": _("The body does not have the announced length."),
    "unsupported_protocol": _(
        "The sender speaks a protocol version that this end does not understand."
    ),
    "unsupported_media": _("The body has a content type that is not accepted here."),
    "not_found": _("There is nothing at this address."),
    "method_not_allowed": _("This address does not accept this method."),
    "rate_limited": _("Too many requests; try again later."),
    "unavailable": _("The service cannot answer right now; try again later."),
    "internal": _("The service failed in a way that it did not foresee; the failure was logged."),
    "token_missing": _("A token is needed: send `Authorization: Bearer TOKEN`."),
    "token_invalid": _("The token is not known; sign in again."),
    "token_expired": _("The token has expired or was revoked; sign in again."),
    "wrong_scope": _("The token is valid, but not for this; use a token of the right kind."),
    "account_suspended": _("The account is suspended; write to contact@gpugoblin.com."),
    "not_allowed": _("The account may not do this."),
    "capability_invalid": _("The capability is missing, damaged or not signed by the site."),
    "capability_expired": _("The capability has expired."),
    "capability_foreign": _("The capability is valid, but for another lab, lease or blob."),
    "sign_in_pending": _("Nobody has confirmed this code yet."),
    "sign_in_denied": _("The sign-in was denied by the person who was asked."),
    "sign_in_expired": _("The code has expired or was used; start the sign-in again."),
    "unknown_job": _("There is no such job."),
    "unknown_unit": _("There is no such unit."),
    "unknown_lease": _("There is no such lease."),
    "unknown_lab": _("There is no such lab."),
    "unknown_blob": _("There is no such blob."),
    "unknown_array": _("There is no such array; open or upload it again."),
    "conflict": _("The same id was used before for something else."),
    "copied_host": _("This state directory seems to be a copy: take a new host id."),
    "lease_ended": _("The lease has ended; nothing more is taken for it."),
    "host_removed": _("This machine was removed on the site; join again to lend it again."),
    "offset_mismatch": _("The bytes do not continue where the upload stands; see `received`."),
    "digest_mismatch": _(
        "The bytes do not have the announced digest; send them again from the start."
    ),
    "quota_exceeded": _("The quota of the lab is used up for today."),
    "endpoint_refused": _("The address of the lab node is not one that may be used."),
    "endpoint_unreachable": _("The lab node could not be reached at its address."),
    "path_outside_roots": _("The path is not inside a folder that this lab node was told to use."),
    "file_missing": _("There is no such file."),
    "file_unreadable": _("The file cannot be read."),
    "bad_array": _("The file is not an array that can be opened."),
    "file_truncated": _("The file is shorter than its header says."),
    "file_changed": _("The file was changed while the job was using it."),
    "output_exists": _("The output file exists already; choose another name or remove it."),
    "disk_full": _("There is not enough room on the disk."),
    "storage_failed": _("The disk reported an error."),
    "shape_mismatch": _("The shapes do not fit together."),
    "dtype_unsupported": _("This element type cannot be computed."),
    "bad_graph": _("The graph is not valid."),
    "unsupported_computation": _("This lab node cannot plan this computation."),
    "memory_too_small": _("No plan fits the memory of the volunteers."),
    "not_ready": _("The job is not done yet."),
    "result_expired": _("The result is no longer kept."),
    "job_failed": _("The job has failed."),
    "job_cancelled": _("The job was cancelled."),
    "unreachable": _("The other end cannot be reached."),
    "bad_reply": _("The other end answered something that is not part of the protocol."),
    "bad_certificate": _("The certificate of the other end is not the expected one."),
}
"""By code; the English is the docstring of the problem's class."""


def sentence(problem: Problem) -> str:
    """What a page says about a problem."""
    if (get_language() or "en").startswith("en"):
        return problem.detail
    return of_code(problem.code)


def told(problem: Problem) -> str:
    """A problem that one of the site's rooms raised, whose own sentence is translated already.

    What wire says by itself, and the waits of limits, are not.
    """
    is_of_a_program = isinstance(problem, RateLimited) or problem.detail == type(problem)().detail
    return sentence(problem) if is_of_a_program else problem.detail


def of_code(code: str) -> str:
    """What a code means; an unknown one is named as it is."""
    known = SENTENCES.get(code)
    return str(known) if known else gettext("Unknown reason: %(code)s") % {"code": code}
