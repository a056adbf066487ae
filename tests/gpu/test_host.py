"""The catalogue's CUDA kernels compiled as C++ for this processor: they compute what numpy does.

How a GPU's own functions round is not seen here; whether the text says the right thing is.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest

from opgraph.catalogue import formula, philox
from tests.gpu.kernels import catalogue_kernels, formula_programs
from tests.gpu.stand_in import Kernel

COMPILER = shutil.which("g++") or shutil.which("c++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="There is no C++ compiler.")

HEAD = """
#include <cmath>
#include <cstdlib>
using namespace std;
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
"""
C_TYPES = {"float32": "float", "float64": "double", "uint64": "unsigned long long"}


def written(number: int, kernel: Kernel) -> str:
    """The kernel as a function of the count, pointers to arrays, and numbers."""
    declared = [each.split() for each in f"{kernel.in_params},{kernel.out_params}".split(",")]
    taken, inside = ["long long count"], []
    for words, (dtype, is_array) in zip(declared, kernel.calls[-1], strict=True):
        name, type_ = words[-1], C_TYPES[dtype]
        if "raw" in words:
            taken.append(f"{type_}* {name}")
        elif is_array:
            taken.append(f"{type_}* _{name}")
            inside.append(f"{type_}& {name} = _{name}[i];")
        else:
            taken.append(f"{type_} {name}")
    letter = C_TYPES[kernel.calls[-1][-1][0]]
    return (
        f'extern "C" void run{number}({", ".join(taken)}) {{ typedef {letter} T; (void)sizeof(T);'
        f" for (long long i = 0; i < count; ++i) {{ {' '.join(inside)} {kernel.operation} }} }}\n"
    )


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By the kernels' names."""
    assert COMPILER is not None
    folder: Path = tmp_path_factory.mktemp("kernels")
    kernels = catalogue_kernels()
    text = HEAD + "".join(written(n, kernel) for n, (_, kernel) in enumerate(kernels))
    (folder / "kernels.cpp").write_text(text)
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC",
         "-o", str(folder / "kernels.so"), str(folder / "kernels.cpp")],
        check=True,
    )  # fmt: skip
    library = ctypes.CDLL(str(folder / "kernels.so"))
    return {name: getattr(library, f"run{n}") for n, (name, _) in enumerate(kernels)}


@needs_compiler
def test_the_kernel_of_random_words_makes_numpys_words(functions: dict[str, Any]) -> None:
    for key, block in (((0, 0), 0), ((1, 2), 3), ((2**64 - 1, 2**63), 2**64 - 2)):
        made = numpy.zeros(16, numpy.uint64)
        words = (ctypes.c_uint64(each) for each in (*key, block))
        functions["philox"](ctypes.c_longlong(4), *words, made.ctypes.data_as(ctypes.c_void_p))
        numpy.testing.assert_array_equal(made, philox.words(numpy, key, block, 16))


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_formulas_compute_what_numpy_does(functions: dict[str, Any], dtype: str) -> None:
    special = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, numpy.inf, -numpy.inf, numpy.nan]
    random = numpy.random.default_rng(1)
    for name, program, count in formula_programs(dtype):
        arrays = [
            numpy.concatenate([random.permutation(special), random.uniform(0.5, 2, 50)])
            .astype(dtype)
            for _ in range(count)
        ]  # fmt: skip
        out = numpy.empty_like(arrays[0])
        pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (*arrays, out))
        functions[name](ctypes.c_longlong(out.size), *pointers)
        with numpy.errstate(all="ignore"):
            right = formula.evaluate(program, arrays, numpy.dtype(dtype).type)
        tolerance = 8 * numpy.finfo(dtype).eps
        numpy.testing.assert_allclose(out, right, rtol=tolerance, atol=0, err_msg=name)
