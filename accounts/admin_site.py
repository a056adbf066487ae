"""Django's admin behind the site's own log-in: there are no passwords."""

from __future__ import annotations

from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import logout
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts import admin_doors, admin_pages
from accounts.rooms import OURS


class ChosenRows:
    """For admin classes whose lists have boxes to choose rows by."""

    def action_checkbox(self, obj: Model) -> SafeString:
        """The box that chooses a row; Django would render a template for each."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{}">',
            ACTION_CHECKBOX_NAME,
            obj.pk,
            gettext("Choose %(row)s") % {"row": obj},
        )


class MovedByServices(ChosenRows):
    """For admin classes: nothing is added or deleted here; services do what is to be done."""

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False

    def has_delete_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False


class ShownOnly(MovedByServices):
    """For inlines that nobody edits."""

    can_delete = False
    extra = 0

    def has_change_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False


class GoblinAdminSite(AdminSite):
    """The look of the site, a bar of doors instead of a sidebar, and no page about passwords."""

    site_header = site_title = "GPU Goblin"
    index_title = _("Administration")
    enable_nav_sidebar = False

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Rows of our own rooms only: roles stand for Django's groups, and what a library keeps
        about log-ins is moved by `accounts`."""
        one = isinstance(model_or_iterable, type)
        models: list[Any] = [model_or_iterable] if one else list(model_or_iterable)
        ours = [model for model in models if model._meta.app_label in OURS]
        super().register(ours, admin_class, **options)

    def login(
        self, request: HttpRequest, _extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send whoever is not logged in to the log-in page; others may not come in."""
        if request.user.is_authenticated:
            raise PermissionDenied
        query = urlencode({"next": request.GET.get("next", reverse("admin:index"))})
        return HttpResponseRedirect(f"{reverse('login')}?{query}")

    @method_decorator(require_POST)
    def logout(  # type: ignore[override]
        self, request: HttpRequest, _extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The same as everywhere on the site."""
        logout(request)
        return redirect("login")

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Django's lists hand what an address says to the database, which takes no zero byte."""

        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if "%00" in request.META.get("QUERY_STRING", ""):
                raise BadRequest
            answer: HttpResponse = view(request, *args, **kwargs)
            return answer

        return super().admin_view(checked, cacheable)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The rooms' own pages, then Django's addresses without those for passwords."""
        usual = [
            pattern
            for pattern in super().get_urls()
            if not str(getattr(pattern, "name", "")).startswith("password_change")
        ]
        return [*admin_pages.addresses(self), *usual]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """What every admin page knows."""
        return super().each_context(request) | {"doors": admin_doors.bar(request)}

    def index(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The first page: the doors with what waits behind them, then all lists."""
        boxes = {"boxes": admin_doors.boxes(request)}
        return super().index(request, boxes | (extra_context or {}))
