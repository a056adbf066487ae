"""Of several open requests of one account only the newest stays open: one at a time is the rule."""

from django.db import migrations

FORWARD = """
WITH older AS (
    SELECT r.id, r.account_id, r.state FROM research_access_accessrequest r
    WHERE r.state IN ('draft', 'submitted', 'info_asked') AND EXISTS (
        SELECT 1 FROM research_access_accessrequest n
        WHERE n.account_id = r.account_id AND n.id > r.id
          AND n.state IN ('draft', 'submitted', 'info_asked'))
), noted AS (
    INSERT INTO research_access_decision (request_id, actor_id, from_state, to_state, reason)
    SELECT id, account_id, state, 'withdrawn', 'Only one request may be open at a time.' FROM older
)
UPDATE research_access_accessrequest SET state = 'withdrawn' WHERE id IN (SELECT id FROM older);
"""


class Migration(migrations.Migration):
    dependencies = [("research_access", "0002_decisions_are_fixed")]
    operations = [
        migrations.RunSQL(FORWARD, migrations.RunSQL.noop),
        migrations.RenameField("accessrequest", "title", "field"),
    ]
