"""Addresses of invitations with the domain in its `xn--` form, as accounts have them now.

Where a lab has invited both spellings, the one without `xn--` goes: the other lets the same person
in.
"""

import idna
from django.db import migrations


def forward(apps, _schema_editor):
    invitations = apps.get_model("research_access", "Invitation").objects
    for row in invitations.exclude(email__regex=r"^[ -~]*$").order_by("id"):
        address = of_name_servers(row.email)
        if invitations.filter(lab=row.lab_id, email=address).exclude(pk=row.pk).exists():
            row.delete()
        else:
            invitations.filter(pk=row.pk).update(email=address)


def of_name_servers(address):
    local, _at, domain = address.rpartition("@")
    try:
        return f"{local}@{idna.encode(domain, uts46=True, std3_rules=True).decode('ascii')}"
    except (idna.IDNAError, UnicodeError):
        return address


class Migration(migrations.Migration):
    dependencies = [("research_access", "0006_proposals_withdrawn")]

    operations = [migrations.RunPython(forward, migrations.RunPython.noop)]
