"""Benchmarks of GPU Goblin: each prints one JSON object per line on standard output."""
