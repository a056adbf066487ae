"""The page on which a person deletes the account."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import erasure, factors
from accounts.addresses import folded
from accounts.models import Person
from accounts.pages.common import account_of, forget
from goblin_wire.problems import BadMessage, NotAllowed


class DeletionForm(forms.Form):
    """One's own address, typed: nobody deletes an account by a slip of the hand."""

    email = forms.CharField(
        label=_("Your e-mail address"),
        max_length=254,
        help_text=_("Type it to confirm that this account is to be deleted."),
        error_messages={"required": _("Type your e-mail address to confirm.")},
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "inputmode": "email", "spellcheck": "false"}
        ),
    )

    def __init__(self, *args: Any, address: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._address = address

    def clean_email(self) -> str:
        try:
            typed = folded(self.cleaned_data["email"])
        except BadMessage:
            typed = ""
        if typed != self._address:
            raise forms.ValidationError(_("This is not the address of this account."))
        return typed


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_page(request: HttpRequest) -> HttpResponse:
    """Say what goes and what stays; by POST with the address, delete."""
    account = account_of(request)
    if not factors.is_fresh(request):
        query = urlencode({"again": 1, "next": request.path})
        return HttpResponseRedirect(f"{reverse('login')}?{query}")
    person = get_object_or_404(Person, account=account)
    form = DeletionForm(request.POST or None, address=person.email)
    if request.method == "POST" and form.is_valid():
        try:
            erasure.erase(account)
        except NotAllowed as problem:
            form.add_error(None, problem.detail)
        else:
            logout(request)
            return forget(request, render(request, "accounts/deleted.html"), person.email)
    facts = {"form": form, "ends": erasure.consequences(account)}
    return render(request, "accounts/delete.html", facts, status=400 if form.is_bound else 200)
