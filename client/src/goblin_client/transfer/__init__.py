"""Bytes between this machine and lab nodes."""
