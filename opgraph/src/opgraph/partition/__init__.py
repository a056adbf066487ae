"""Cutting a computation into units that volunteers' machines can hold. Pure functions."""
