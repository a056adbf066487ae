from django.db import migrations, models

STATES = [
    ("open", "open"),
    ("planned", "planned"),
    ("built", "built"),
    ("declined", "declined"),
    ("withdrawn", "withdrawn"),
]


class Migration(migrations.Migration):
    dependencies = [("research_access", "0005_proposals")]

    operations = [
        migrations.AlterField(
            model_name="proposal",
            name="state",
            field=models.CharField(
                choices=STATES, default="open", max_length=16, verbose_name="state"
            ),
        ),
        migrations.AlterField(
            model_name="proposalmove",
            name="from_state",
            field=models.CharField(choices=STATES, max_length=16, verbose_name="from"),
        ),
        migrations.AlterField(
            model_name="proposalmove",
            name="to_state",
            field=models.CharField(choices=STATES, max_length=16, verbose_name="to"),
        ),
        migrations.RemoveConstraint(model_name="proposal", name="proposal_state_known"),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", [name for name, _ in STATES])),
                name="proposal_state_known",
            ),
        ),
    ]
