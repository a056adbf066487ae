"""Saved replies: texts that reviewers use often, in both languages of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import CharField, TextField
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts import admin_doors
from accounts.admin_search import FoldedSearch
from accounts.admin_site import ChosenRows
from research_access.models import SavedReply
from research_access.text import clean_text

if TYPE_CHECKING:
    ReplyAdminBase = admin.ModelAdmin[SavedReply]
    ReplyFormBase = forms.ModelForm[SavedReply]
else:
    ReplyAdminBase = admin.ModelAdmin
    ReplyFormBase = forms.ModelForm


class ReplyForm(ReplyFormBase):
    """Both texts are kept as `clean_text` leaves them."""

    def clean(self) -> dict[str, Any]:
        known: dict[str, Any] = super().clean() or self.cleaned_data
        return {name: clean_text(value) for name, value in known.items()}


@admin.register(SavedReply)
class SavedReplyAdmin(FoldedSearch, ChosenRows, ReplyAdminBase):
    """Reviewers write them; the decision page puts them in, in the applicant's language."""

    form = ReplyForm
    fields = ("title", "text_en", "text_vi")
    list_display = ("title", "beginning")
    search_fields = folded_fields = ("title", "text_en", "text_vi")
    list_per_page = 50
    show_full_result_count = False
    formfield_overrides = {  # noqa: RUF012  (Django's own form)
        TextField: {"widget": forms.Textarea(attrs={"rows": 8})},
        CharField: {"widget": forms.TextInput},
    }

    @admin.display(description=_("text in English"))
    def beginning(self, reply: SavedReply) -> str:
        first = reply.text_en.partition("\n")[0]
        return first if len(first) <= 80 else f"{first[:79].rstrip()}…"


def number(_request: HttpRequest) -> str:
    """How many there are."""
    replies = SavedReply.objects.count()
    told = ngettext(
        "%(number)d text in both languages.", "%(number)d texts in both languages.", replies
    )
    return told % {"number": replies}


admin_doors.add(
    admin_doors.Door(
        "admin:research_access_savedreply_changelist",
        _("Saved replies"),
        "research_access.view_savedreply",
        number,
        rank=20,
    )
)
