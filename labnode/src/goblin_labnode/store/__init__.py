"""What a lab node remembers: one SQLite file."""
