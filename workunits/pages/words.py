"""Codes that travel between programs, in words for people."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from goblin_wire.states import Policy

Text = str | Promise

IDLE: dict[str, Text] = {
    "no_jobs": gettext_lazy("There is no work at the moment; it takes some as soon as there is."),
    "jobs_paused": gettext_lazy("All jobs that have work are paused."),
    "lab_offline": gettext_lazy("There is work, but its lab is off line or cannot be reached."),
    "quota_used": gettext_lazy("There is work, but its lab has used up today's quota."),
    "window_full": gettext_lazy("The labs have as much in flight as they can take in."),
    "memory_too_small": gettext_lazy(
        "The work that is there needs more memory for a unit than this machine offers. Raise"
        " --memory if you can."
    ),
    "catalogue_too_old": gettext_lazy(
        "The work that is there needs a newer client. Install the current version."
    ),
    "needs_others": gettext_lazy("What is left is being computed, or waits for other machines."),
    "slowed_down": gettext_lazy(
        "Its last units came to nothing, so it gets the next one later. Why they failed is said"
        " with its refusals."
    ),
    "account_limit": gettext_lazy(
        "An account that is new, or that returned a wrong result, gets only a few units at a time"
        " until twenty more were verified."
    ),
    "host_limit": gettext_lazy("It holds as many units as one machine may."),
}
"""Why a machine got no work: the codes of `workunits.notices`."""

REFUSALS: dict[str, Text] = {
    "wrong_entry": gettext_lazy(
        "A number in the result was wrong beyond every rounding error that the computation allows."
        " Often the memory or the graphics card is faulty, or runs beyond its limits."
    ),
    "wrong_shape": gettext_lazy("The result did not have the shape that was asked for."),
    "too_inexact": gettext_lazy(
        "The result was less exact than the computation allows. It was not used, and nobody is"
        " blamed for it."
    ),
    "rejected": gettext_lazy("The lab found the result to be wrong."),
    "reissued": gettext_lazy("The lab did not use the result; nobody is blamed for it."),
    "digest_mismatch": gettext_lazy(
        "The bytes that arrived were not the bytes that were announced: something on the way or on"
        " a disk changed them."
    ),
    "cost_mismatch": gettext_lazy(
        "The unit would have cost more or less than the lab had stated, so your machine left it."
    ),
    "bad_graph": gettext_lazy("The unit was not one that the client computes."),
    "memory": gettext_lazy("The unit needed more memory than the machine allows."),
    "failed": gettext_lazy("The computation failed on the machine."),
    "disk_full": gettext_lazy("The disk of the machine was full."),
    "client_failed": gettext_lazy("The client could not finish it for a trouble of the machine."),
    "capability_refused": gettext_lazy("The lab did not accept the permit that came with it."),
    "lab_unreachable": gettext_lazy("The lab could not be reached; your machine is not to blame."),
    "lease_ended": gettext_lazy("The lab needed it no more; your machine is not to blame."),
    "removed": gettext_lazy("The machine was removed, so its units went to others."),
}
"""Why a result was not used or a unit came back: codes of verdicts and of hand-backs."""

POLICIES: dict[str, Text] = {
    Policy.CHECK.value: gettext_lazy(
        "checked by the lab with secret random signs against its own sums"
    ),
    Policy.RECOMPUTE.value: gettext_lazy("computed again"),
    Policy.COMPARE.value: gettext_lazy("compared with the results of other machines"),
}

KINDS: dict[str, Text] = {
    "product": pgettext_lazy("kind of computation", "Matrix product"),
    "": pgettext_lazy("kind of computation", "Unknown"),
}


def kind(code: str) -> Text:
    """A kind of computation; one without a name of ours is shown as it is."""
    return KINDS.get(code, code)


def refusal(code: str) -> str:
    """The sentence for a code; an unknown one is told as it is."""
    known = REFUSALS.get(code)
    return (
        str(known) if known is not None else _("It ended with the code %(code)s.") % {"code": code}
    )
