"""The addresses of the work units."""
