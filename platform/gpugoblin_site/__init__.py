"""The Django project of GPU Goblin."""

__version__ = "0.1.0"
