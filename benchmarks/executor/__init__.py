"""The executor against eager PyTorch on the same threads."""
