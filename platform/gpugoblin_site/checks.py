"""System checks: a misconfigured site says so before it serves anybody."""
