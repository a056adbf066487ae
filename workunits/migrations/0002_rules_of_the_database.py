"""What Django cannot say: a ledger that only grows, and storage fit for hot tables."""

from django.db import migrations

LEDGER = """
CREATE FUNCTION workunits_ledger_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the credit ledger only grows: add a correction instead'
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER ledger_is_fixed BEFORE UPDATE OR DELETE ON workunits_creditentry
  FOR EACH ROW EXECUTE FUNCTION workunits_ledger_is_fixed();
"""
LEDGER_BACK = """
DROP TRIGGER ledger_is_fixed ON workunits_creditentry;
DROP FUNCTION workunits_ledger_is_fixed();
"""

# Room in each page for the next versions of its rows: their moves then touch no index.
STORAGE = """
ALTER TABLE workunits_unit SET (fillfactor = 65, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_lease SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_host SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_standing SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_labday SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE workunits_opening SET (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
ALTER TABLE workunits_pendinglease SET (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
"""

EPOCH = """
INSERT INTO workunits_siteepoch (id, epoch, since) VALUES (1, gen_random_uuid(), now())
"""


# Rows of these tables come and go, and many share one key: in lists of equal keys an index could
# forget dead entries only all at once, and every look at the first one would walk over them.
INDEXES = """
ALTER INDEX opening_memory SET (deduplicate_items = off);
ALTER INDEX opening_order SET (deduplicate_items = off);
ALTER INDEX pending_lab SET (deduplicate_items = off);
ALTER INDEX pending_account_host SET (deduplicate_items = off);
"""


class Migration(migrations.Migration):
    dependencies = [("workunits", "0001_initial")]

    operations = [
        migrations.RunSQL(LEDGER, LEDGER_BACK),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(INDEXES, migrations.RunSQL.noop),
        migrations.RunSQL(EPOCH, migrations.RunSQL.noop),
    ]
