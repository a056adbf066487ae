"""Whole networks, used as people use them."""
