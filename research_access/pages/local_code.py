"""What works without access, as Python that a test runs."""

from __future__ import annotations

LOCAL = """\
import numpy
import gpugoblin

A = gpugoblin.local.array(numpy.random.default_rng(0).standard_normal((200, 300)))
print((A @ numpy.ones(300)).compute().shape)

B = gpugoblin.assume((65536, 65536), "float32")
print(gpugoblin.explain(B @ B, network=gpugoblin.NetworkFigures(
    devices=64, memory_bytes=4 << 30, flops_per_s=5e11,
    down_bytes_per_s=12.5e6, up_bytes_per_s=2.5e6,
)))"""
