"""The GPU Goblin lab node: keeps the data, plans, serves panels, verifies every result."""

__version__ = "0.1.0"
