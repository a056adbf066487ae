"""GPU Goblin for researchers: ask for a large computation from Python, get a verified result."""

__version__ = "0.1.0"
