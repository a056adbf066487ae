"""Incidents on the status page, and a history of what was told that only grows."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

HISTORY = """
CREATE FUNCTION workunits_incident_history_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the history of incidents only grows: correct the incident instead'
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER incident_history_is_fixed BEFORE UPDATE OR DELETE ON workunits_incidentversion
  FOR EACH ROW EXECUTE FUNCTION workunits_incident_history_is_fixed();
"""
HISTORY_BACK = """
DROP TRIGGER incident_history_is_fixed ON workunits_incidentversion;
DROP FUNCTION workunits_incident_history_is_fixed();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('workunits', '0007_names'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('began', models.DateTimeField()),
                ('ended', models.DateTimeField(blank=True, null=True)),
                ('sentence_en', models.CharField(max_length=1000)),
                ('sentence_vi', models.CharField(max_length=1000)),
                ('version', models.PositiveIntegerField(default=1)),
                ('changed', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'incident',
                'verbose_name_plural': 'incidents',
                'indexes': [models.Index(fields=['-ended'], name='incident_ended')],
                'constraints': [models.CheckConstraint(condition=models.Q(('ended', None), ('ended__gte', models.F('began')), _connector='OR'), name='incident_ends_later')],
            },
        ),
        migrations.CreateModel(
            name='IncidentVersion',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('began', models.DateTimeField()),
                ('ended', models.DateTimeField(blank=True, null=True)),
                ('sentence_en', models.CharField(max_length=1000)),
                ('sentence_vi', models.CharField(max_length=1000)),
                ('version', models.PositiveIntegerField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='workunits.incident')),
            ],
            options={
                'verbose_name': 'version of an incident',
                'verbose_name_plural': 'history of incidents',
                'constraints': [models.UniqueConstraint(fields=('incident', 'version'), name='incident_version_once')],
            },
        ),
        migrations.RunSQL(HISTORY, HISTORY_BACK),
    ]
