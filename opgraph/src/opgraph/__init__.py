"""The operator graph of GPU Goblin: catalogue, validation, executor, cost, plans, verification."""

__version__ = "0.1.0"
