"""The catalogues: how they are made, and that those of this checkout are whole."""

from pathlib import Path

import polib
import pytest

from tools import messages
from tools.messages import Message, NotConstant


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one room with two sources."""
    (tmp_path / "shop" / "tests").mkdir(parents=True)
    (tmp_path / "templates" / "shop").mkdir(parents=True)
    (tmp_path / "shop" / "a.py").write_text(
        'x = _("Open")\ny = ngettext("%(n)s day", "%(n)s days", 2)\n'
    )
    (tmp_path / "shop" / "tests" / "t.py").write_text('_("never")\n')
    (tmp_path / "templates" / "shop" / "p.html").write_text(
        '{% load i18n %}<p>{% translate "It\'s <b>" %}</p>'
        "{% blocktranslate trimmed with a=b %}\n  Hello\n  {{ a }}, 5 %\n{% endblocktranslate %}"
        '{% include "x.html" with text=_("Given") %}{{ y|default:_("None") }}'
        '{% translate "May" context "month" %}'
    )
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    about = messages.Room(("shop", "templates/shop"), "shop/locale")
    monkeypatch.setattr(messages, "ROOMS", {"shop": about})
    return tmp_path


def translate(**texts: str) -> None:
    path = messages.catalogue_path("shop")
    found = polib.pofile(str(path))
    for entry in found:
        if entry.msgid_plural:
            entry.msgstr_plural = {0: texts.get(entry.msgid, "%(n)s ngày")}
        else:
            entry.msgstr = texts.get(entry.msgid, entry.msgid)
    found.save(str(path))


def test_messages_of_python_and_of_templates(room: Path) -> None:
    found = messages.wanted("shop")
    assert set(found) == {
        Message(None, "Open", None),
        Message(None, "%(n)s day", "%(n)s days"),
        Message(None, "It's <b>", None),
        Message(None, "Hello %(a)s, 5 %%", None),
        Message(None, "Given", None),
        Message(None, "None", None),
        Message("month", "May", None),
    }
    assert found[Message(None, "Open", None)] == ["shop/a.py"]


def test_a_text_that_is_not_constant_is_refused(room: Path) -> None:
    (room / "shop" / "b.py").write_text('_(f"{x}")\n')
    with pytest.raises(NotConstant, match=r"shop/b\.py:1"):
        messages.wanted("shop")


def test_the_way_of_a_message(room: Path) -> None:
    messages.extract("shop")
    assert len(messages.check("shop")) == 8  # seven to translate, and no .mo
    translate(Open="Mở")
    messages.compile_room("shop")
    assert messages.check("shop") == []
    (room / "shop" / "a.py").write_text('_("Close")\n')
    assert "'Close'" in messages.check("shop")[0]
    messages.extract("shop")
    gone = {entry.msgid: entry.msgstr for entry in messages.catalogue("shop") if entry.obsolete}
    assert gone["Open"] == "Mở"
    (room / "shop" / "a.py").write_text('_("Open")\n')
    messages.extract("shop")
    back = {entry.msgid: entry for entry in messages.catalogue("shop") if not entry.obsolete}
    assert back["Open"].msgstr == "Mở"


def test_a_message_of_another_package_stays(room: Path) -> None:
    messages.extract("shop")
    path = messages.catalogue_path("shop")
    found = polib.pofile(str(path))
    found.append(polib.POEntry(msgid="Theirs", msgstr="Của họ", tcomment="elsewhere: allauth"))
    found.save(str(path))
    messages.extract("shop")
    assert not next(each for each in messages.catalogue("shop") if each.msgid == "Theirs").obsolete


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (polib.POEntry(msgid="a", msgstr=""), "not translated"),
        (polib.POEntry(msgid="a", msgstr="b", flags=["fuzzy"]), "fuzzy"),
        (polib.POEntry(msgid="%(a)s", msgstr="%(b)s"), "placeholders"),
        (polib.POEntry(msgid="<b>a</b>", msgstr="a"), "tags"),
        (polib.POEntry(msgid="a", msgid_plural="{n}", msgstr_plural={0: "n"}), "placeholders"),
    ],
)
def test_faults_of_a_message(text: polib.POEntry, fault: str) -> None:
    assert fault in messages.faults_of(text)[0]


def test_a_stale_mo_file_is_found(room: Path) -> None:
    messages.extract("shop")
    translate()
    messages.compile_room("shop")
    translate(Open="Mở")
    assert any("compile" in line for line in messages.check("shop"))


@pytest.mark.parametrize("name", sorted(messages.ROOMS))
def test_a_catalogue_of_this_checkout_is_whole(name: str) -> None:
    assert messages.check(name) == []


def test_no_two_rooms_say_the_same_thing_differently() -> None:
    assert messages.quarrels(list(messages.ROOMS)) == []
