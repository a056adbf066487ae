"""The apps of the site that are ours, by their labels."""

from __future__ import annotations

OURS = ("accounts", "research_access", "workunits", "gpugoblin_site")
