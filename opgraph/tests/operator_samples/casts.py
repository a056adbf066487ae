"""Samples of conversions."""

from __future__ import annotations

from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, large_with
from opgraph.tensors import INTEGERS


def conversion(draw: Draw, row: Row) -> Case:
    """Numbers around and beyond the range of the target."""
    source, target = row
    span = 2.0 ** draw.integer(0, 15 if source == "float16" else 70)
    array = draw.numbers(source, draw.shape(), -span, span)
    return Case((source,), (array,), {"dtype": target})


def _converted(operand: Any, dtype: str) -> Any:
    if dtype == "bool":
        return operand != 0
    if dtype in INTEGERS and operand.dtype == numpy.longdouble:
        bounds = numpy.iinfo(dtype)
        whole = [min(max(int(each), bounds.min), bounds.max) for each in operand.ravel()]
        return numpy.array(whole, object).reshape(operand.shape)
    return operand


SAMPLES = {"astype": Sample(conversion, _converted, large_with({"dtype": "int32"}))}
