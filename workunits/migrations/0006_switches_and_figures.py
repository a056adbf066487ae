"""Switches with a history that only grows, and the figures that the scheduler finds."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

HISTORY = """
CREATE FUNCTION workunits_switch_history_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the history of switches only grows: switch again instead'
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER switch_history_is_fixed BEFORE UPDATE OR DELETE ON workunits_switchmove
  FOR EACH ROW EXECUTE FUNCTION workunits_switch_history_is_fixed();
"""
HISTORY_BACK = """
DROP TRIGGER switch_history_is_fixed ON workunits_switchmove;
DROP FUNCTION workunits_switch_history_is_fixed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("workunits", "0005_machines_and_sums"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Hour",
            fields=[
                ("hour", models.DateTimeField(primary_key=True, serialize=False)),
                ("flops", models.DecimalField(decimal_places=0, max_digits=60)),
                ("units", models.BigIntegerField()),
                ("machines", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Measured",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("machines", models.IntegerField()),
                ("devices", models.IntegerField()),
                ("labs", models.IntegerField()),
                ("open_leases", models.BigIntegerField()),
                ("reported", models.BigIntegerField()),
                ("waiting", models.BigIntegerField()),
                ("verified", models.BigIntegerField()),
                ("verified_flops", models.FloatField()),
                ("quarantined", models.BigIntegerField()),
                ("disputed", models.BigIntegerField()),
                ("verify_p50_s", models.FloatField(null=True)),
                ("verify_p95_s", models.FloatField(null=True)),
                ("verify_results", models.IntegerField()),
                ("leases_looked_at", models.IntegerField()),
                ("refusals", models.JSONField()),
                ("versions", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Switch",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("target", models.BigIntegerField(default=0)),
                ("version", models.CharField(blank=True, default="", max_length=200)),
                ("sentence_en", models.CharField(max_length=500)),
                ("sentence_vi", models.CharField(max_length=500)),
                ("reason", models.CharField(max_length=1000)),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "switches",
            },
        ),
        migrations.CreateModel(
            name="SwitchMove",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("target", models.BigIntegerField(default=0)),
                ("version", models.CharField(blank=True, default="", max_length=200)),
                ("sentence_en", models.CharField(max_length=500)),
                ("sentence_vi", models.CharField(max_length=500)),
                ("reason", models.CharField(max_length=1000)),
                ("on", models.BooleanField()),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="host",
            index=models.Index(
                condition=models.Q(("rejected__gt", 0)), fields=["id"], name="host_refused"
            ),
        ),
        migrations.AddIndex(
            model_name="unit",
            index=models.Index(
                condition=models.Q(("code__in", ["ok", "job_cancelled"]), _negated=True),
                fields=["id"],
                name="unit_put_aside",
            ),
        ),
        migrations.AddConstraint(
            model_name="measured",
            constraint=models.CheckConstraint(
                condition=models.Q(("id", 1)), name="measured_single_row"
            ),
        ),
        migrations.AddField(
            model_name="switch",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="switchmove",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="switch",
            constraint=models.UniqueConstraint(
                fields=("kind", "target", "version"), name="switch_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="switch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["everything", "version", "account", "host", "lab"])
                ),
                name="switch_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="switch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "everything"), ("target", 0), ("version", "")),
                    models.Q(
                        ("kind", "version"), ("target", 0), models.Q(("version", ""), _negated=True)
                    ),
                    models.Q(
                        ("kind__in", ["account", "host", "lab"]), ("target__gt", 0), ("version", "")
                    ),
                    _connector="OR",
                ),
                name="switch_names_what",
            ),
        ),
        migrations.AddIndex(
            model_name="switchmove",
            index=models.Index(fields=["kind", "target", "version"], name="switch_move_of"),
        ),
        migrations.AddConstraint(
            model_name="switchmove",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["everything", "version", "account", "host", "lab"])
                ),
                name="switchmove_kind_known",
            ),
        ),
        migrations.RunSQL(HISTORY, HISTORY_BACK),
    ]
