"""The GPU Goblin volunteer client: lends this machine to verified research."""

__version__ = "0.1.0"
