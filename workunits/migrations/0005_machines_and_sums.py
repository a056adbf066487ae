"""Machines have names and can be removed; sums of the ledger and of jobs, kept exact.

The sums are taken from what is there; from then on the statements that write the ledger and move
the units keep them.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

CREDIT_DAYS = """
INSERT INTO workunits_creditday (account_id, day, kind, flops, units)
SELECT c.account_id, (c.created AT TIME ZONE 'UTC')::date, coalesce(j.kind, ''), sum(c.flops),
       count(*)
FROM workunits_creditentry c
LEFT JOIN workunits_lease l ON l.id = c.lease_id
LEFT JOIN workunits_unit u ON u.id = l.unit_id
LEFT JOIN workunits_job j ON j.id = u.job_id
GROUP BY 1, 2, 3
"""

# When a unit was verified is the time of its credit; where none was given, its job's.
JOB_HOURS = """
INSERT INTO workunits_jobhour
       (job_id, hour, units, flops, input_bytes, output_bytes, put_aside)
SELECT u.job_id, date_trunc('hour', coalesce(c.created, j.created), 'UTC'),
       count(*) FILTER (WHERE u.state = 'accepted'),
       coalesce(sum(u.flops) FILTER (WHERE u.state = 'accepted'), 0),
       coalesce(sum(u.input_bytes) FILTER (WHERE u.state = 'accepted'), 0),
       coalesce(sum(u.output_bytes) FILTER (WHERE u.state = 'accepted'), 0),
       count(*) FILTER (WHERE u.state = 'quarantined')
FROM workunits_unit u JOIN workunits_job j ON j.id = u.job_id
LEFT JOIN workunits_creditentry c ON c.lease_id = u.chosen AND c.kind = 'verified'
WHERE u.state IN ('accepted', 'quarantined') GROUP BY 1, 2
"""

# The plans of the site's connections go by indexes; here whole tables are read.
WHOLE_TABLES = "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;"

STORAGE = """
ALTER TABLE workunits_creditday SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_jobhour SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("workunits", "0004_room_for_moves"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            "CreditDay",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("kind", models.CharField(max_length=32)),
                ("flops", models.DecimalField(decimal_places=0, max_digits=60)),
                ("units", models.BigIntegerField()),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "CreditDay",
            models.UniqueConstraint(fields=("account", "day", "kind"), name="creditday_once"),
        ),
        migrations.CreateModel(
            "JobHour",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("units", models.BigIntegerField()),
                ("flops", models.DecimalField(decimal_places=0, max_digits=60)),
                ("input_bytes", models.DecimalField(decimal_places=0, max_digits=60)),
                ("output_bytes", models.DecimalField(decimal_places=0, max_digits=60)),
                ("put_aside", models.BigIntegerField()),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="workunits.job",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "JobHour", models.UniqueConstraint(fields=("job", "hour"), name="jobhour_once")
        ),
        migrations.AddIndex("JobHour", models.Index(fields=["hour"], name="jobhour_hour")),
        migrations.AddField(
            "Host", "label", models.CharField(db_default="", max_length=100)
        ),
        migrations.AddField("Host", "token_id", models.BigIntegerField(null=True)),
        migrations.AddField(
            "Host", "doing", models.CharField(db_default="ready", max_length=40)
        ),
        migrations.AddField("Host", "doing_since", models.DateTimeField(db_default=Now())),
        migrations.AddField("Host", "resumes", models.DateTimeField(null=True)),
        migrations.AddField("Host", "removed", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "Job", models.Index(fields=["lab", "-id"], name="job_lab_newest")
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(WHOLE_TABLES, migrations.RunSQL.noop),
        migrations.RunSQL(CREDIT_DAYS, migrations.RunSQL.noop),
        migrations.RunSQL(JOB_HOURS, migrations.RunSQL.noop),
    ]
