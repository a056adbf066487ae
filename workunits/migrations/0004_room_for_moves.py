"""Room in the pages of the hot tables for all the versions that a row goes through."""

from django.db import migrations

# A lease is written, reported and judged; a batch of 64 fills whole pages, and with less room its
# reports found none, so that each of them touched three indexes.
STORAGE = """
ALTER TABLE workunits_unit SET (fillfactor = 50);
ALTER TABLE workunits_lease SET (fillfactor = 35);
ALTER TABLE workunits_pendinglease SET (fillfactor = 40);
"""
STORAGE_BACK = """
ALTER TABLE workunits_unit SET (fillfactor = 65);
ALTER TABLE workunits_lease SET (fillfactor = 70);
ALTER TABLE workunits_pendinglease SET (fillfactor = 70);
"""


class Migration(migrations.Migration):
    dependencies = [("workunits", "0003_probation")]

    operations = [migrations.RunSQL(STORAGE, STORAGE_BACK)]
