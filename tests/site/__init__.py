"""Tests of the Django project: what every address has in common."""
