"""The CUDA kernels of the catalogue, as cupy writes them out, and NVRTC to compile them.

Needs cupy and NVRTC (`pip install .[gpu-check]`), and no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from opgraph.builder import GraphBuilder
from opgraph.catalogue import formula, philox
from opgraph.executor import execute
from tests.gpu.stand_in import STAND_IN, Device, Kernel

ARCHITECTURES = ("70", "80", "90")
"""Compute capabilities: Volta, Ampere, Hopper."""

_NDARRAY, _INDEXER, _SCALAR = 1, 2, 3
"""cupy's `_ArgKind`."""


@dataclass(frozen=True)
class Source:
    """A kernel as text, with the options that cupy would compile it with."""

    name: str
    text: str
    options: tuple[str, ...]


def catalogue_kernels() -> list[tuple[str, Kernel]]:
    """Every kernel of the catalogue with its arguments, each under a name of its own."""
    found = [(name, _formula(program, count, dtype))
             for dtype in ("float32", "float64")
             for name, program, count in formula_programs(dtype)]  # fmt: skip
    philox.words(STAND_IN, (1, 2), 3, 10)
    return [*found, ("philox", philox._kernel(STAND_IN))]


def formula_programs(dtype: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Each word of `formula` alone, then numbers, and a program that uses much of the stack."""
    for word, function in formula.FUNCTIONS.items():
        floats = [f"x{place}" for place in range(len(function.takes))]
        if function.takes.startswith("b"):
            floats[:1] = ["x0", "x0", "less"]
        program = (*floats, word)
        if function.gives == "b":
            program = (*program, "x0", "x1", "where")
        yield f"{word}-{dtype}", program, len(function.takes)
    numbers = ("x0", (-1.5).hex(), "multiply", (1e-300).hex(), "add", (2.0**-1074).hex(), "maximum")
    yield f"numbers-{dtype}", numbers, 1
    deep = (*(f"x{n}" for n in range(31)), *("add", "multiply", "minimum") * 10)
    yield f"deep-{dtype}", deep, 31


def _formula(program: tuple[str, ...], count: int, dtype: str) -> Kernel:
    """The kernel that running the program makes."""
    build = GraphBuilder()
    operands = [build.placeholder(f"x{n}", dtype, (6,)) for n in range(count)]
    graph = build.build(*build.apply_all("formula", operands, {"program": program}))
    inputs = {f"x{n}": Device(numpy.ones(6, dtype)) for n in range(count)}
    execute(graph, inputs, xp=STAND_IN)
    kernel: Kernel = formula._kernel(STAND_IN, program, count)
    # One kernel serves all dtypes; what it is compiled for is that of this call.
    return replace(kernel, calls=kernel.calls[-1:])


def sources(name: str, kernel: Kernel) -> Iterator[Source]:
    """As cupy writes it out for its last call: contiguous arrays, and arrays with strides."""
    import cupy  # type: ignore[import-not-found]
    from cupy._core import core

    made = cupy.ElementwiseKernel(
        kernel.in_params, kernel.out_params, kernel.operation, kernel.name, options=kernel.options
    )
    includes = "".join(f"#include <{each}>\n" for each in core._cupy_header_list)
    # `-ftz=true` is what cupy appends to every compilation.
    options = (*core.assemble_cupy_compiler_options(kernel.options), "-ftz=true")
    for layout, axes in (("contiguous", 1), ("strided", 3)):
        text = _written(made, kernel.calls[-1], axes, contiguous=axes == 1)
        yield Source(f"{name} {layout}", includes + text, options)


def _written(made: Any, call: Any, axes: int, contiguous: bool) -> str:
    import cupy
    from cupy._core import _carray, _kernel, _scalar

    letters: dict[str, Any] = {}
    arguments = []
    for parameter, (dtype, is_array) in zip(made.params, call, strict=False):
        type_ = numpy.dtype(dtype)
        if parameter.dtype is None:
            letters[parameter.ctype] = type_
        arguments.append(
            _kernel._ArgInfo(_NDARRAY, cupy.ndarray, type_, axes, contiguous, True)
            if is_array
            else _kernel._ArgInfo(_SCALAR, _scalar.CScalar, type_, 0, True, True)
        )
    arguments.append(_kernel._ArgInfo(_INDEXER, _carray.Indexer, None, axes, True, True))
    types = _kernel._TypeMap(tuple(letters.items()))
    text: str = _kernel._get_elementwise_kernel_code(
        tuple(arguments), types, made.params, made.operation, made.name, made.preamble
    )
    return text


def compile_to_ptx(source: Source, architecture: str) -> str:
    """The PTX. Raises RuntimeError with NVRTC's words."""
    from cupy_backends.cuda.libs import nvrtc  # type: ignore[import-not-found]

    program = nvrtc.createProgram(source.text, "kernel.cu", (), ())
    try:
        nvrtc.compileProgram(program, (*source.options, f"-arch=compute_{architecture}"))
        ptx = nvrtc.getPTX(program)
    except nvrtc.NVRTCError:
        raise RuntimeError(f"{source.name}: {nvrtc.getProgramLog(program)}") from None
    finally:
        nvrtc.destroyProgram(program)
    return ptx.decode() if isinstance(ptx, bytes) else str(ptx)
