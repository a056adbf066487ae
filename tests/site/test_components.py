"""The parts that pages are made of."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.core.paginator import Paginator
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone, translation

from gpugoblin_site import drawings
from gpugoblin_site.pages import code, menu


class Form(forms.Form):
    name = forms.CharField(help_text="As you write it.", max_length=5)
    kind = forms.ChoiceField(choices=[("a", "A"), ("b", "B")], widget=forms.RadioSelect)
    agreed = forms.BooleanField()
    note = forms.CharField(required=False, widget=forms.Textarea)


def rendered(text: str, **facts: Any) -> str:
    return Template("{% load goblin %}" + text).render(Context(facts))


@pytest.mark.parametrize("name", Form.base_fields)
def test_a_field_is_labelled_and_its_error_belongs_to_it(name: str) -> None:
    form = Form({"name": "longer than that"})
    told = render_to_string("components/field.html", {"field": form[name]})
    if name == "kind":
        assert "<legend>" in told
    else:
        assert f'<label for="id_{name}">' in told
    assert ("(optional)" in told) == (name == "note")
    if form[name].errors:
        named = re.search(r'aria-describedby="([^"]+)"', told)
        assert named is not None
        for part in named[1].split():
            assert f'id="{part}"' in told


def test_errors_of_a_form_lead_to_their_fields() -> None:
    form = Form({"name": "longer than that"})
    told = render_to_string("components/form_errors.html", {"form": form})
    assert 'role="alert"' in told
    assert '<a href="#id_name">Name</a>' in told
    assert render_to_string("components/form_errors.html", {"form": Form()}).strip() == ""


def test_pages_keep_the_rest_of_the_query() -> None:
    page = Paginator(range(30), 10).page(2)
    request = RequestFactory().get("/x/?q=a%26b&page=2")
    told = render_to_string("components/pagination.html", {"page": page, "request": request})
    assert 'href="?q=a%26b&amp;page=1"' in told
    assert 'href="?q=a%26b&amp;page=3"' in told
    assert "Page 2 of 3" in told


def test_texts_of_people_are_shown_as_texts() -> None:
    item = {"when": timezone.now(), "who": "<b>Ada</b>", "text": "one <i>\n\ntwo", "kind": "done"}
    told = render_to_string("components/timeline.html", {"items": [item]})
    assert "<b>" not in told
    assert "<i>" not in told
    assert told.count("<p>") == 2


def test_ago_has_the_exact_time_of_the_readers_zone() -> None:
    moment = datetime(2026, 11, 30, 20, 15, tzinfo=UTC)
    with translation.override("vi"), timezone.override(ZoneInfo("Asia/Ho_Chi_Minh")):
        told = rendered("{{ moment|ago }}", moment=moment)
    assert 'datetime="2026-11-30T20:15:00+00:00"' in told
    assert 'title="03:15, 1 tháng 12 năm 2026 +07"' in told


def test_numbers_for_attributes_know_no_language() -> None:
    with translation.override("vi"):
        assert rendered("{{ a|plain }} {{ b|plain }}", a=1234567, b=0.5) == "1234567 0.5"
        assert rendered("{{ a|number }} {{ b|number:1 }}", a=1234567, b=0.55) == "1.234.567 0,6"


def test_shown_code_is_escaped_and_copied_line_by_line() -> None:
    shown = code.shown('a = "<b>"  # <i> & more\nif a < 2:\n    pass\n')
    told = render_to_string("components/copy.html", {"text": shown, "kind": "python"})
    plain = re.sub(r"<[^>]+>", "", told.partition("<code>")[2].partition("</code>")[0])
    assert plain == ("a = &quot;&lt;b&gt;&quot;  # &lt;i&gt; &amp; more\nif a &lt; 2:\n    pass\n")
    assert '<span class="comment"># &lt;i&gt;' in told
    text = render_to_string("components/copy.html", {"text": "a <b>\nc"})
    assert "a &lt;b&gt;" in text
    text = render_to_string("components/copy.html", {"text": "join --site http://a/?b&c"})
    assert '>join <span class="word">--site</span> http://a/?b&amp;c</span>' in text


def test_names_in_ticks_are_code_and_a_tick_alone_stays() -> None:
    assert rendered("{{ said|ticks }}", said="as `a<b`, not c") == "as <code>a&lt;b</code>, not c"
    assert rendered("{{ said|ticks }}", said="a ` b <") == "a ` b &lt;"


def test_a_menu_says_where_one_is() -> None:
    here = [entry.label for entry in menu.entries("public", "/data/") if entry.current]
    assert [str(label) for label in here] == ["Your data"]
    below = [entry.current for entry in menu.entries("own", "/access/new/")]
    assert below == ["", "", "", "true", "", ""]
    for name in menu.MENUS:
        assert all(entry.url.startswith("/") for entry in menu.entries(name, ""))


@pytest.mark.parametrize(
    ("tags", "kind"), [("success", "done"), ("extra error", "refused"), ("", "info")]
)
def test_messages_have_kinds(tags: str, kind: str) -> None:
    assert rendered("{{ tags|notice_kind }}", tags=tags) == kind


def test_the_mark_is_the_same_everywhere() -> None:
    from django.contrib.staticfiles import finders

    path = finders.find("goblin.svg")
    assert isinstance(path, str)
    assert f'd="{drawings.GOBLIN}"' in Path(path).read_text(encoding="utf-8")
    assert drawings.GOBLIN in rendered("{% mark %}")


@pytest.mark.parametrize("kind", drawings.ICONS)
def test_drawings_are_not_read_out(kind: str) -> None:
    assert 'aria-hidden="true"' in rendered("{% icon kind %}", kind=kind)
