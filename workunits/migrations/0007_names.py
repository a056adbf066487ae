"""Tables have names that people read; the database does not change."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("workunits", "0006_switches_and_figures"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="creditentry",
            options={
                "verbose_name": "entry of the ledger",
                "verbose_name_plural": "ledger of credit",
            },
        ),
        migrations.AlterModelOptions(
            name="host",
            options={"verbose_name": "machine", "verbose_name_plural": "machines"},
        ),
        migrations.AlterModelOptions(
            name="job",
            options={"verbose_name": "job", "verbose_name_plural": "jobs"},
        ),
        migrations.AlterModelOptions(
            name="labnode",
            options={"verbose_name": "lab node", "verbose_name_plural": "lab nodes"},
        ),
        migrations.AlterModelOptions(
            name="lease",
            options={"verbose_name": "lease", "verbose_name_plural": "leases"},
        ),
        migrations.AlterModelOptions(
            name="standing",
            options={
                "verbose_name": "figures of an account",
                "verbose_name_plural": "figures of accounts",
            },
        ),
        migrations.AlterModelOptions(
            name="switch",
            options={"verbose_name": "switch", "verbose_name_plural": "switches"},
        ),
        migrations.AlterModelOptions(
            name="switchmove",
            options={
                "verbose_name": "move of a switch",
                "verbose_name_plural": "history of switches",
            },
        ),
        migrations.AlterModelOptions(
            name="unit",
            options={"verbose_name": "unit", "verbose_name_plural": "units"},
        ),
        migrations.AlterModelOptions(
            name="verdictbatch",
            options={
                "verbose_name": "batch of verdicts",
                "verbose_name_plural": "batches of verdicts",
            },
        ),
    ]
