"""Addresses with the domain in its `xn--` form, and names without towers of marks.

Two accounts may hold two spellings of one address. Both are left as they are, since nobody but their
person can say which one is to stay. The one with the `xn--` spelling is found by both from now on;
the log names the other, which an operator can look at and `erase_account`.
"""

import unicodedata

import idna
from django.db import migrations

from gpugoblin_site import logs

MARKS = ("Mn", "Me")
MOST = 5
NAMES = ("name", "name_search", "shown_name")


def forward(apps, _schema_editor):
    people = apps.get_model("accounts", "Person").objects
    for person in people.exclude(email__regex=r"^[ -~]*$"):
        address = of_name_servers(person.email)
        if people.filter(email=address).exclude(pk=person.pk).exists():
            logs.logger("accounts").warning(
                "another account has another spelling of this address",
                account=person.account.key.hex,
            )
        else:
            people.filter(pk=person.pk).update(email=address)
    for person in people.exclude(name="", shown_name="").iterator():
        kept = {name: with_few_marks(getattr(person, name)) for name in NAMES}
        if any(getattr(person, name) != text for name, text in kept.items()):
            people.filter(pk=person.pk).update(**kept)
    apps.get_model("accounts", "LoginAttempt").objects.exclude(email__regex=r"^[ -~]*$").delete()


def of_name_servers(address):
    local, _at, domain = address.rpartition("@")
    try:
        return f"{local}@{idna.encode(domain, uts46=True, std3_rules=True).decode('ascii')}"
    except (idna.IDNAError, UnicodeError):
        return address


def with_few_marks(text):
    kept, height = [], 0
    for character in text:
        height = height + 1 if unicodedata.category(character) in MARKS else 0
        if height <= MOST:
            kept.append(character)
    return "".join(kept)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_words_of_the_admin")]

    operations = [migrations.RunPython(forward, migrations.RunPython.noop)]
