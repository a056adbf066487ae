"""Every form of the site in which something can be wrong: where it is, and what somebody types.

Forms with nothing but a button are not here, nor searches, where nothing is wrong.
"""

from dataclasses import dataclass, field

from tests.browser.pages import EXPECTED, NEWCOMER, RESEARCHER, STAFF, UNPROVEN, VOLUNTEER, Place

LONG = "rất dài " * 40
"""More than any field of one line takes."""


@dataclass(frozen=True)
class Mistake:
    """A form sent with something wrong in it.

    `typed` is what is filled in, by the name of its field; all other texts are emptied if
    `is_emptied`. `unticked` boxes are switched off, `chosen` radio buttons (name, value) on.
    `wrong` are the fields that must be complained about, `opens` what must be unfolded first.
    """

    name: str
    place: Place
    form: str
    wrong: tuple[str, ...]
    typed: dict[str, str] = field(default_factory=dict)
    is_emptied: bool = True
    unticked: tuple[str, ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()
    opens: str = ""
    button: str = "button.main, button.danger, button:only-of-type:not([name=insert])"


LOGIN = Place("login")
CODE = Place("login-code", EXPECTED)
ACCOUNT = Place("account", NEWCOMER)
DELETE = Place("account-delete", NEWCOMER)
FIRST = Place("second-factor", NEWCOMER)
CHECK = Place("second-factor-check", UNPROVEN)
ELECTRICITY = Place("lend")
MACHINE = Place("machine", VOLUNTEER, "host")
DRAFT = Place("access-request", "applicant-draft", "request_draft")
SUBMITTED = Place("access-request", "applicant-submitted", "request_submitted")
ASKED = Place("access-request", "applicant-info_asked", "request_info_asked")
PROPOSALS = Place("proposals", NEWCOMER)
LABS = Place("labs", RESEARCHER)
LAB = Place("lab", RESEARCHER, "lab")

REQUEST = ("name", "institution", "position", "field", "purpose", "kinds", "size")
SHARE, TOKENS, INVITE = (f"form[action$='/{name}/']" for name in ("share", "tokens", "invite"))
LOG_IN_FORM, CODE_FORM = "form[action='/login/']", "form[action='/login/code/']:has(#id_code)"
SEND = "button[value=submit]"

OWN_FORMS = (
    Mistake("login-empty", LOGIN, LOG_IN_FORM, ("email",)),
    Mistake("login-wrong", LOGIN, LOG_IN_FORM, ("email",), {"email": "không phải địa chỉ"}),
    Mistake("code-empty", CODE, CODE_FORM, ("code",)),
    Mistake("code-wrong", CODE, CODE_FORM, ("code",), {"code": "0000 000"}),
    Mistake(
        "account-long",
        ACCOUNT,
        "form[action='/account/']",
        ("name", "shown_name"),
        {"name": LONG, "shown_name": LONG},
    ),
    Mistake("delete-empty", DELETE, "form:has(#id_email)", ("email",)),
    Mistake("delete-other", DELETE, "form:has(#id_email)", ("email",), {"email": "ai@vidu.org"}),
    Mistake("first-code-empty", FIRST, "form:has(#id_code)", ("code",)),
    Mistake("first-code-wrong", FIRST, "form:has(#id_code)", ("code",), {"code": "123"}),
    Mistake("second-factor-empty", CHECK, "form:has(#id_code)", ("code",)),
    Mistake("second-factor-wrong", CHECK, "form:has(#id_code)", ("code",), {"code": "123"}),
    Mistake("electricity-empty", ELECTRICITY, "form:has(#id_watts)", ("watts", "hours")),
    Mistake(
        "electricity-wrong",
        ELECTRICITY,
        "form:has(#id_watts)",
        ("watts", "hours", "price"),
        {"watts": "-1", "hours": "25", "price": "-3"},
    ),
    Mistake("machine-long", MACHINE, "form:has(#id_label)", ("label",), {"label": LONG}),
    Mistake(
        "request-empty",
        DRAFT,
        "#request-form",
        (*REQUEST, "no_confidential"),
        unticked=("kinds", "no_confidential"),
        button=SEND,
    ),
    Mistake(
        "request-wrong",
        DRAFT,
        "#request-form",
        ("name", "daily_pflop", "noncommercial"),
        {"name": LONG, "institution": "Viện Toán", "daily_pflop": "-1", "size": "200 tích"},
        is_emptied=False,
        chosen=(("noncommercial", "no"),),
        button=SEND,
    ),
    Mistake("message-empty", SUBMITTED, "form[action$='/message/']", ("text",)),
    Mistake("answer-empty", ASKED, "form[action$='/message/']", ("text",)),
    Mistake("answer-blank", ASKED, "form[action$='/message/']", ("text",), {"text": "   "}),
    Mistake("proposal-empty", PROPOSALS, "form[action='/proposals/']", ("what", "purpose")),
    Mistake(
        "proposal-long",
        PROPOSALS,
        "form[action='/proposals/']",
        ("what",),
        {"what": LONG, "purpose": "Truyền nhiệt."},
    ),
    Mistake("lab-empty", LABS, "form:has(#id_name)", ("name",)),
    Mistake(
        "lab-wrong",
        LABS,
        "form:has(#id_name)",
        ("name", "daily_pflop"),
        {"name": LONG, "daily_pflop": "-5"},
    ),
    Mistake("share-empty", LAB, SHARE, ("daily_pflop",), opens="details:has(#id_daily_pflop)"),
    Mistake(
        "share-wrong",
        LAB,
        SHARE,
        ("daily_pflop",),
        {"daily_pflop": "0"},
        opens="details:has(#id_daily_pflop)",
    ),
    Mistake("token-empty", LAB, TOKENS, ("label",), opens="details:has(#id_label)"),
    Mistake("token-long", LAB, TOKENS, ("label",), {"label": LONG}, opens="details:has(#id_label)"),
    Mistake("invite-empty", LAB, INVITE, ("email",)),
    Mistake("invite-wrong", LAB, INVITE, ("email",), {"email": "không có"}),
)

SWITCH = Place("admin:workunits_switch_add", STAFF)
LIFT = Place("admin:workunits_switch_change", STAFF, "row workunits.switch")
INCIDENT = Place("admin:workunits_incident_add", STAFF)
CORRECT = Place("admin:workunits_incident_change", STAFF, "incident")
DECIDE = Place("admin:research_access_accessrequest_change", STAFF, "request_submitted_row")
REPLY = Place("/admin/research_access/savedreply/add/", STAFF)
PROPOSAL = Place("admin:research_access_proposal_change", STAFF, "row research_access.proposal")
QUOTA = Place("admin:research_access_lab_change", STAFF, "row research_access.lab")
SENTENCES = ("sentence_en", "sentence_vi")
CONTENT = "#content form"

STAFF_FORMS = (
    Mistake("switch-empty", SWITCH, CONTENT, ("subject", *SENTENCES, "reason")),
    Mistake(
        "switch-wrong",
        SWITCH,
        CONTENT,
        ("subject", "reason"),
        {"subject": "không có máy này", "sentence_en": "Wait.", "sentence_vi": "Hãy chờ."},
    ),
    Mistake("lift-empty", LIFT, CONTENT, ("reason",)),
    Mistake("incident-empty", INCIDENT, CONTENT, ("began", *SENTENCES)),
    Mistake(
        "incident-wrong",
        INCIDENT,
        CONTENT,
        ("ended", "sentence_vi"),
        {"began": "2026-01-02T03:04", "ended": "2026-01-01T03:04", "sentence_en": "Late."},
    ),
    Mistake("incident-correct", CORRECT, CONTENT, ("began", *SENTENCES)),
    Mistake("decline-empty", DECIDE, "#decline form", ("decline-reason",), opens="#decline"),
    Mistake(
        "approve-wrong",
        DECIDE,
        "#approve form",
        ("approve-quota",),
        {"approve-quota": "-1", "approve-reason": "Được."},
        opens="#approve",
    ),
    Mistake("ask-empty", DECIDE, "#ask form", ("ask-reason",), opens="#ask"),
    Mistake(
        "tell-blank", DECIDE, "#tell form", ("tell-reason",), {"tell-reason": " "}, opens="#tell"
    ),
)
GENERIC_FORMS = (
    Mistake("reply-empty", REPLY, CONTENT, ("title", "text_en", "text_vi"), button="[name=_save]"),
    Mistake("proposal-empty", PROPOSAL, CONTENT, ("to", "answer"), button="[name=_save]"),
    Mistake(
        "quota-wrong",
        QUOTA,
        CONTENT,
        ("daily_flops",),
        {"daily_flops": "-1"},
        button="[name=_save]",
    ),
)
"""Django's own pages, with Django's own summary."""
