"""Every page of the site: its address, who looks at it, and which fact of the world it shows.

`tests/site/test_page_list.py` compares this list with the URL configuration, so that no page is
forgotten. The admin's lists and forms are added from its registry.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.contrib import admin
from django.urls import reverse

VISITOR = "visitor"
NEWCOMER = "newcomer"
"""Has an account and nothing else."""
VOLUNTEER = "volunteer"
RESEARCHER = "researcher"
STAFF = "superuser"
EXPECTED = "expected"
"""Has typed an address and is waiting for the mail."""
UNPROVEN = "unproven"
"""Staff whose browser has not shown the second factor yet."""


@dataclass(frozen=True)
class Place:
    """A page in one state, as one person sees it."""

    name: str
    who: str = VISITOR
    fact: str = ""
    """The entry of the world's facts that is the argument in the address."""
    query: str = ""
    state: str = ""
    """What is special where one address has several places."""
    status: int = 200
    is_generic: bool = False
    """Made by Django's admin from a model: it is visited in one language, looked at in both
    themes, and has the scripts of the others."""

    @property
    def title(self) -> str:
        """For the names of tests and pictures; no slash in it, for pictures are files."""
        name = self.name.replace("admin:", "admin-").strip("/").replace("/", "-")
        return "-".join(filter(None, (name, self.state, self.who)))

    def address(self, facts: Mapping[str, str]) -> str:
        """The path with its query."""
        if self.name.startswith("/"):
            return self.name
        arguments = [facts[self.fact]] if self.fact else []
        return reverse(self.name, args=arguments) + self.query.format_map(facts)


PUBLIC = (
    *(
        Place(name)
        for name in ("home", "how", "catalogue", "your-data", "cost", "contact", "lend", "help")
    ),
    *(Place(name) for name in ("terms", "privacy", "status", "leaderboard", "login")),
    Place("catalogue", query="?q=norm", state="found"),
    Place("catalogue", query="?q=quaternion", state="nothing"),
    Place("/no/such/page/", state="404", status=404),
)

OWN = (
    *(Place(name, NEWCOMER) for name in ("start", "account", "account-export", "account-delete")),
    *(
        Place(name, NEWCOMER, state="empty")
        for name in ("machines", "contribution", "access", "labs", "proposals")
    ),
    Place("login-code", EXPECTED),
    Place("second-factor", NEWCOMER, state="none"),
    Place("second-factor", STAFF, state="known"),
    Place("second-factor-check", UNPROVEN),
    Place("admin:login", NEWCOMER, state="refused", status=403),
    Place("sign-in", NEWCOMER, state="empty"),
    Place("sign-in", VOLUNTEER, query="?code={sign_in}", state="asking"),
    Place("home", VOLUNTEER),
    Place("start", VOLUNTEER),
    Place("account", VOLUNTEER),
    Place("machines", VOLUNTEER),
    Place("machine", VOLUNTEER, "host"),
    Place("machine-remove", VOLUNTEER, "host"),
    Place("contribution", VOLUNTEER),
    Place("leaderboard", VOLUNTEER),
    Place("access-new", NEWCOMER),
    *(
        Place("access-request", f"applicant-{state}", f"request_{state}", state=state)
        for state in ("draft", "submitted", "info_asked", "declined")
    ),
    Place("access", RESEARCHER),
    Place("access-request", RESEARCHER, "request_approved", state="approved"),
    Place("proposals", RESEARCHER),
    Place("labs", RESEARCHER),
    Place("lab", RESEARCHER, "lab"),
    Place("lab-jobs", RESEARCHER, "lab"),
    Place("invitation", NEWCOMER, "invitation"),
    Place("start", RESEARCHER),
)

STAFF_PAGES = (
    Place("admin:index", STAFF),
    Place("admin:app_list", STAFF, "app"),
    Place("admin:cockpit", STAFF),
    Place("admin:how-to", STAFF, "how_to"),
    Place("admin:workunits_switch_add", STAFF),
    Place("admin:workunits_incident_add", STAFF),
    Place("/admin/research_access/savedreply/add/", STAFF),
)

POSTED = (
    *("logout", "language", "session-end", "log-out-everywhere", "token-revoke"),
    *("access-draft", "access-message", "access-withdraw", "access-again"),
    "proposal-withdraw",
    *("lab-invite", "lab-take-back", "lab-member", "lab-leave", "lab-share"),
    *("lab-tokens", "lab-token-revoke", "admin:logout"),
)
"""Names of addresses that forms post to and nobody opens."""
NOT_PAGES = {
    "account_login": "another name of the log-in page",
    "mfa_authenticate": "the page of second-factor-check within a log-in; the roads walk over it",
    "contribution-csv": "a file",
    "schema": "for programs",
    "admin:jsi18n": "a script",
    "admin:view_on_site": "leads elsewhere",
    "admin:autocomplete": "for a script",
    "admin:": "the answer to an address that the admin lacks",
    "admin:research_access_accessrequest_beat": "a part of the decision page",
}
"""Names of addresses that nobody looks at, each with the reason."""


def admin_pages() -> Iterator[Place]:
    """The list of each registered model, and one of its rows where the world has one."""
    for model in sorted(admin.site._registry, key=lambda each: each._meta.label_lower):
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        yield Place(f"admin:{name}_changelist", STAFF, is_generic=True)
        row = f"row {model._meta.label_lower}"
        yield Place(f"admin:{name}_change", STAFF, row, is_generic=True)


def every_page() -> tuple[Place, ...]:
    """All of them."""
    return (*PUBLIC, *OWN, *STAFF_PAGES, *admin_pages())
