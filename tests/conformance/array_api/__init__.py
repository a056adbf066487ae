"""The namespace `gpugoblin.xp`, computed in this process, against array-api-strict and numpy."""
