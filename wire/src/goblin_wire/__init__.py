"""What is said between the machines of GPU Goblin: messages, errors, tokens, blob ids, HTTP."""

__version__ = "0.1.0"
