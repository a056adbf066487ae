"""The outbox in the admin: what left, what waits and why; failed mail can be tried again.

Texts are not shown: a mail may say what only its reader and a reviewer should know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts import admin_doors
from accounts.admin_site import MovedByServices
from goblin_wire.problems import Conflict
from gpugoblin_site.mail import courier, figures, message, outbox
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail
from gpugoblin_site.templatetags.goblin import ago, status

if TYPE_CHECKING:
    OutboxAdminBase = admin.ModelAdmin[OutboxMail]
else:
    OutboxAdminBase = admin.ModelAdmin


_KINDS = {
    MailState.WAITING: "waiting",
    MailState.SENDING: "waiting",
    MailState.SENT: "done",
    MailState.FAILED: "refused",
    MailState.BOUNCED: "refused",
}


def _at_the_door(_request: HttpRequest) -> str:
    now = figures.summary()
    return _("%(due)d should leave now, %(failed)d failed or came back in the last 24 hours.") % {
        "due": now.due,
        "failed": now.undelivered,
    }


admin_doors.add(
    admin_doors.Door(
        url="admin:gpugoblin_site_outboxmail_changelist",
        label=gettext_lazy("Mail"),
        permission="gpugoblin_site.view_outboxmail",
        facts=_at_the_door,
    )
)


@admin.register(OutboxMail)
class OutboxAdmin(MovedByServices, OutboxAdminBase):
    """Nothing is edited here; a mail is tried again or cancelled."""

    list_display = ("about", "became", "since", "address")
    list_filter = ("state", "code")
    show_facets = admin.ShowFacets.NEVER
    search_fields = ("address", "key")
    ordering = ("-id",)
    list_per_page = 50
    show_full_result_count = False
    fields = (
        "about",
        "address",
        "template",
        "language",
        "became",
        "detail",
        "attempts",
        "created",
        "due",
        "expires",
        "finished",
        "key",
        "message_id",
    )
    readonly_fields = fields
    actions = ("retry", "cancel")
    change_form_template = "admin/gpugoblin_site/outboxmail/change_form.html"

    @admin.display(description=gettext_lazy("subject"), ordering="subject")
    def about(self, mail: OutboxMail) -> SafeString | str:
        """The subject; of a mail with a code, whose subject holds it, only that."""
        if mail.secret:
            return _("(a code or a link)")
        return format_html('<span lang="{}">{}</span>', mail.language, mail.subject)

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def became(self, mail: OutboxMail) -> SafeString:
        """The state with its reason, as a word and a colour."""
        state, reason = MailState(mail.state), MailCode(mail.code)
        text = f"{state.label}: {reason.label}" if reason else str(state.label)
        kind = "info" if reason is MailCode.EXPIRED else _KINDS.get(state, "info")
        return status(kind, text)

    @admin.display(description=gettext_lazy("since"), ordering="finished")
    def since(self, mail: OutboxMail) -> SafeString | str:
        return ago(mail.finished or mail.created)

    @admin.display(description="Message-ID")
    def message_id(self, mail: OutboxMail) -> str:
        return message.message_id(mail)

    @admin.action(description=gettext_lazy("Try again"), permissions=["change"])
    def retry(self, request: HttpRequest, queryset: QuerySet[OutboxMail]) -> None:
        done = [mail for mail in queryset if self._retried(request, mail)]
        self._say(request, len(done), len(queryset))

    @admin.action(description=gettext_lazy("Cancel"), permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[OutboxMail]) -> None:
        done = [mail for mail in queryset if self._cancelled(request, mail)]
        self._say(request, len(done), len(queryset))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The mail, with the buttons for what can be done with it."""
        if request.method == "POST":
            return self._pressed(request, object_id)
        shown = get_object_or_404(OutboxMail, pk=object_id)
        facts = {
            "can_retry": shown.state in outbox.RETRIED and bool(shown.body),
            "can_cancel": shown.state == MailState.WAITING,
            "is_unsure": shown.code == MailCode.UNSURE,
            "text_is_gone": shown.state in outbox.RETRIED and not shown.body,
        }
        facts |= {"title": _("Mail"), "subtitle": None} | (extra_context or {})
        return super().change_view(request, object_id, form_url, facts)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The newest first."""
        return super().changelist_view(request, {"title": _("Mail")} | (extra_context or {}))

    def _pressed(self, request: HttpRequest, object_id: str) -> HttpResponse:
        mail = get_object_or_404(OutboxMail, pk=object_id)
        if not self.has_change_permission(request, mail):
            return HttpResponse(status=403)
        cancelling = "_cancel" in request.POST
        done = self._cancelled(request, mail) if cancelling else self._retried(request, mail)
        self._say(request, int(done), 1)
        return HttpResponseRedirect(request.get_full_path())

    def _retried(self, request: HttpRequest, mail: OutboxMail) -> bool:
        try:
            outbox.retry(mail)
        except Conflict:
            return False
        courier.hurry(mail.pk)
        self.log_change(request, mail, "tried again")
        return True

    def _cancelled(self, request: HttpRequest, mail: OutboxMail) -> bool:
        if not outbox.cancel(mail.key):
            return False
        self.log_change(request, mail, "cancelled")
        return True

    def _say(self, request: HttpRequest, done: int, asked: int) -> None:
        """What was done, and that some mails had left or lost their text meanwhile."""
        if done:
            text = ngettext("%(done)d mail changed.", "%(done)d mails changed.", done)
            self.message_user(request, text % {"done": done}, messages.SUCCESS)
        if done < asked:
            text = _("%(left)d mails stayed as they are: they have left, or their text is gone.")
            self.message_user(request, text % {"left": asked - done}, messages.WARNING)
