"""Decisions are append-only in the database as well: a trigger refuses UPDATE and DELETE."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION research_access_decision_is_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a decision can neither be changed nor deleted'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER decision_is_fixed BEFORE UPDATE OR DELETE ON research_access_decision
    FOR EACH ROW EXECUTE FUNCTION research_access_decision_is_fixed();
"""
BACKWARD = """
DROP TRIGGER decision_is_fixed ON research_access_decision;
DROP FUNCTION research_access_decision_is_fixed();
"""


class Migration(migrations.Migration):
    dependencies = [("research_access", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
