"""Samples of elementwise arithmetic."""

from __future__ import annotations

from operator_samples.sample import Sample, elementwise, large

SAMPLES = {
    "add": Sample(elementwise(), lambda left, right: left + right, large(arity=2)),
    "subtract": Sample(elementwise(), lambda left, right: left - right, large(arity=2)),
    "multiply": Sample(elementwise(), lambda left, right: left * right, large(arity=2)),
    "negative": Sample(elementwise(), lambda operand: -operand, large()),
}
