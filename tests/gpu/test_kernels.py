"""The CUDA source of the catalogue is compiled, without a GPU: `make gpu-check`."""

from __future__ import annotations

import re

import pytest

from tests.gpu import signatures
from tests.gpu.kernels import ARCHITECTURES, catalogue_kernels, compile_to_ptx, sources
from tests.gpu.stand_in import Kernel

pytest.importorskip(
    "cupy", reason="CUDA source was NOT compiled: cupy is not here; `make gpu-check` does it"
)
pytest.importorskip(
    "cupy_backends.cuda.libs.nvrtc", reason="CUDA source was NOT compiled: there is no NVRTC"
)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_of_the_catalogue_compiles(architecture: str) -> None:
    kernels = catalogue_kernels()
    compiled = [
        compile_to_ptx(source, architecture)
        for name, kernel in kernels
        for source in sources(name, kernel)
    ]
    assert len(compiled) == 2 * len(kernels)
    both = [name for name, kernel in kernels if kernel.calls[-1][-1][0] == name[-7:]]
    assert len(both) == len(kernels) - 1  # each formula for its own dtype, and philox
    assert all(f".target sm_{architecture}" in ptx for ptx in compiled)


def ptx_of(kernel: Kernel) -> str:
    (source, *_) = sources("one", kernel)
    return compile_to_ptx(source, "80")


def test_a_product_and_a_sum_are_rounded_each() -> None:
    """The CPU has no fused one there, so the GPU may not have, either."""
    kernels = dict(catalogue_kernels())
    assert "fma." not in ptx_of(kernels["numbers-float32"])
    assert "mul." in ptx_of(kernels["numbers-float32"])
    fused = Kernel("T a", "T out", "out = a * a + a;", "fused")
    fused.calls.append((("float32", True), ("float32", True)))
    assert "fma." in ptx_of(fused)


def test_what_does_not_compile_is_said() -> None:
    wrong = Kernel("T a", "T out", "out = nowhere(a);", "wrong")
    wrong.calls.append((("float32", True), ("float32", True)))
    with pytest.raises(RuntimeError, match="nowhere"):
        ptx_of(wrong)


def test_the_table_of_signatures_is_that_of_this_cupy() -> None:
    kept, found = signatures.table(), signatures.collect()
    same_release = re.match(r"\d+\.\d+", kept["cupy"])
    assert same_release
    if not found["cupy"].startswith(same_release[0]):
        pytest.skip(f"The table is of cupy {kept['cupy']}, here is {found['cupy']}.")
    for part in ("functions", "methods", "ufuncs"):
        assert signatures.as_json(found[part]) == kept[part]
