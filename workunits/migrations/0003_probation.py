"""An account is on probation until enough of its results were accepted since the last wrong one."""

from django.db import migrations, models

PROVEN = "UPDATE workunits_standing SET proven = accepted WHERE rejected = 0"


class Migration(migrations.Migration):
    dependencies = [("workunits", "0002_rules_of_the_database")]

    operations = [
        migrations.AddField("standing", "proven", models.BigIntegerField(default=0)),
        migrations.RunSQL(PROVEN, migrations.RunSQL.noop),
    ]
