"""Tests that cross the rooms."""
