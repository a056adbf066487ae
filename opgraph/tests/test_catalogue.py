"""Single declarations where the questions to all of them (`test_operators.py`) do not reach."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
import pytest

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS, operator
from opgraph.catalogue.attributes import Attributes, fits
from opgraph.catalogue.declaration import Operator
from opgraph.catalogue.linear_algebra import accumulation_scratch, most_product_scratch
from opgraph.errors import GraphError
from opgraph.executor import execute
from opgraph.tensors import DTYPES, FLOATS, INTEGERS, TensorType, storage_dtype


def run(xp: ModuleType, name: str, dtypes: tuple[str, ...], *arrays: Any, **attributes: Any) -> Any:
    """One operator on arrays of the dtypes' storage; the result as a numpy array."""
    build = GraphBuilder()
    values = [
        build.placeholder(f"x{number}", dtype, array.shape)
        for number, (dtype, array) in enumerate(zip(dtypes, arrays, strict=True))
    ]
    graph = build.build(build.apply(name, *values, **attributes))
    inputs = {f"x{number}": xp.asarray(array) for number, array in enumerate(arrays)}
    (result,) = execute(graph, inputs, xp=xp)
    return result if isinstance(result, numpy.ndarray) else result.get()


def type_of(dtype: str, array: Any) -> TensorType:
    return TensorType(dtype, array.shape)


@pytest.mark.parametrize("shapes", [((3, 4, 5), (3, 5, 2)), ((2, 3, 1, 4), (2, 3, 4, 1))])
def test_leading_axes_of_matmul_are_a_batch(xp: ModuleType, shapes: Any) -> None:
    left, right = (numpy.arange(float(numpy.prod(shape))).reshape(shape) for shape in shapes)
    result = run(xp, "matmul", ("float64", "float64"), left, right)
    numpy.testing.assert_array_equal(result, left @ right)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1)])
@pytest.mark.parametrize("name", ["matmul", "matmul_add"])
def test_products_with_empty_axes(xp: ModuleType, name: str, shape: tuple[int, ...]) -> None:
    m, k, n = shape
    arrays = [numpy.ones((m, n)), numpy.ones((m, k)), numpy.ones((k, n))]
    arrays = arrays[len(arrays) - len(OPERATORS[name].operands) :]
    result = run(xp, name, ("float64",) * len(arrays), *arrays)
    assert (result == k + (name == "matmul_add")).all()
    assert result.shape == (m, n)


def test_products_carry_nan_and_infinity(xp: ModuleType) -> None:
    left = numpy.array([[numpy.nan, 1], [numpy.inf, 1], [numpy.inf, -numpy.inf]], "float32")
    result = run(xp, "matmul", ("float32",) * 2, left, numpy.ones((2, 1), "float32"))
    numpy.testing.assert_array_equal(result, [[numpy.nan], [numpy.inf], [numpy.nan]])


@pytest.mark.parametrize("m", [1, 511, 513, 2000])
def test_a_product_in_blocks_of_rows_adds_every_row(m: int) -> None:
    random = numpy.random.default_rng(3)
    n = 6000
    accumulator, left, right = (
        random.integers(-3, 4, shape).astype("float32") for shape in ((m, n), (m, 2), (2, n))
    )
    result = run(numpy, "matmul_add", ("float32",) * 3, accumulator, left, right)
    numpy.testing.assert_array_equal(result, accumulator + left @ right)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64"])
def test_the_bound_of_scratch_holds_and_grows(dtype: str) -> None:
    sizes = [1, 3, 100, 256, 257, 511, 512, 513, 2048, 5000, 70_000]
    for m in sizes:
        bounds = [most_product_scratch(m, 64, n, 2, dtype) for n in sizes]
        assert bounds == sorted(bounds)
        exact = [accumulation_scratch(m, 64, n, dtype) for n in sizes]
        assert all(low <= high for low, high in zip(exact, bounds, strict=True))


FLOAT_EDGES = [0.0, -0.0, 0.5, -0.5, 0.999, -1.5, 2.5, 127.9, 128.0, -129.0, 255.5, 256.0, 65535.7]
FLOAT_EDGES += [2.0**31, -(2.0**31), 2.0**32, 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 2.0**64]
FLOAT_EDGES += [1e30, -1e30, numpy.inf, -numpy.inf, numpy.nan, 2147483520.0, -2147483904.0]


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_float_to_integer_saturates(xp: ModuleType, source: str, target: str) -> None:
    values = numpy.array(FLOAT_EDGES, source)
    result = run(xp, "astype", (source,), values, dtype=target)
    bounds = numpy.iinfo(target)
    for value, found in zip(values.astype(float), result, strict=True):
        if numpy.isnan(value):
            assert found == 0
        elif numpy.isinf(value):
            assert found == (bounds.max if value > 0 else bounds.min)
        else:
            assert found == min(max(int(value), bounds.min), bounds.max)


@pytest.mark.parametrize("source", [*INTEGERS, "bool"])
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, "bool"])
def test_casts_from_integers(xp: ModuleType, source: str, target: str) -> None:
    values = numpy.array([0, 1, 2, 127, 128, 255, 40_000, 2**31, 2**63 - 1], "uint64")
    values = values.astype(source)
    result = run(xp, "astype", (source,), values, dtype=target)
    numpy.testing.assert_array_equal(result, values.astype(target))


def test_a_float_becomes_true_unless_it_is_zero(xp: ModuleType) -> None:
    values = numpy.array([0.0, -0.0, 1e-300, -1.0, numpy.nan, numpy.inf])
    result = run(xp, "astype", ("float64",), values, dtype="bool")
    assert result.tolist() == [False, False, True, True, True, True]


def test_float64_to_float32_rounds_once(xp: ModuleType) -> None:
    values = numpy.array([1 + 2**-24, 1 + 2**-23 + 2**-24, 1e300, -1e300, numpy.nan, 0.1])
    result = run(xp, "astype", ("float64",), values, dtype="float32")
    expected = numpy.array([1, 1 + 2**-22, numpy.inf, -numpy.inf, numpy.nan, 0.1], "float32")
    numpy.testing.assert_array_equal(result, expected)


def test_every_bfloat16_survives_the_way_through_float32(xp: ModuleType) -> None:
    bits = numpy.arange(2**16, dtype="uint16")
    wide = run(xp, "astype", ("bfloat16",), bits, dtype="float32")
    numpy.testing.assert_array_equal(wide.view("uint32"), bits.astype("uint32") << 16)
    back = run(xp, "astype", ("float32",), wide, dtype="bfloat16")
    is_nan = numpy.isnan(wide)
    numpy.testing.assert_array_equal(back[~is_nan], bits[~is_nan])
    numpy.testing.assert_array_equal(back[is_nan], bits[is_nan] | 0x40)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0x3F800000, 0x3F80),
        (0x3F807FFF, 0x3F80),
        (0x3F808000, 0x3F80),
        (0x3F808001, 0x3F81),
        (0x3F818000, 0x3F82),
        (0x7F7F7FFF, 0x7F7F),
        (0x7F7F8000, 0x7F80),
        (0xFF7FFFFF, 0xFF80),
        (0x7F800001, 0x7FC0),
        (0xFFFFFFFF, 0xFFFF),
        (0x00008000, 0x0000),
        (0x00018000, 0x0002),
    ],
)
def test_float32_to_bfloat16_rounds_to_even(xp: ModuleType, value: int, expected: int) -> None:
    values = numpy.array([value], "uint32").view("float32")
    assert run(xp, "astype", ("float32",), values, dtype="bfloat16").tolist() == [expected]


@pytest.mark.parametrize("dtype", DTYPES)
def test_shaping_keeps_every_bit(xp: ModuleType, dtype: str) -> None:
    values = numpy.arange(24).reshape(2, 3, 4).astype(storage_dtype(dtype))
    permuted = run(xp, "permute_dims", (dtype,), values, axes=(2, 0, 1))
    numpy.testing.assert_array_equal(permuted, values.transpose(2, 0, 1))
    reshaped = run(xp, "reshape", (dtype,), values, shape=(6, 4))
    numpy.testing.assert_array_equal(reshaped, values.reshape(6, 4))
    part = run(xp, "slice", (dtype,), values, starts=(1, 0, 2), stops=(2, 3, 4), steps=(1, 1, 1))
    numpy.testing.assert_array_equal(part, values[1:2, 0:3, 2:4])


def test_shaping_of_one_element(xp: ModuleType) -> None:
    one = numpy.array(7.0)
    assert run(xp, "permute_dims", ("float64",), one, axes=()).shape == ()
    assert run(xp, "slice", ("float64",), one, starts=(), stops=(), steps=()) == 7
    assert run(xp, "reshape", ("float64",), one, shape=(1, 1)).shape == (1, 1)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("permute_dims", {"axes": (0,)}),
        ("permute_dims", {"axes": (0, 0)}),
        ("permute_dims", {"axes": (0, 2)}),
        ("permute_dims", {"axes": (-1, 0)}),
        ("reshape", {"shape": (5,)}),
        ("reshape", {"shape": (-1,)}),
        ("reshape", {"shape": (-2, -3)}),
        ("slice", {"starts": (0,), "stops": (2,), "steps": (1,)}),
        ("slice", {"starts": (0, 0), "stops": (2, 4), "steps": (1, 1)}),
        ("slice", {"starts": (0, 2), "stops": (2, 1), "steps": (1, 1)}),
        ("slice", {"starts": (-1, 0), "stops": (2, 3), "steps": (1, 1)}),
        ("slice", {"starts": (0, 0), "stops": (2, 3), "steps": (1, 0)}),
        ("slice", {"starts": (0, 0), "stops": (2, 3, 1), "steps": (1, 1)}),
    ],
)
def test_shapes_that_do_not_fit_are_refused(name: str, attributes: Attributes) -> None:
    with pytest.raises(GraphError) as refusal:
        operator(name).infer([type_of("float32", numpy.empty((2, 3)))], attributes)
    assert refusal.value.code == "wrong_shape"


@pytest.mark.parametrize("declaration", OPERATORS.values(), ids=lambda each: each.name)
def test_a_declaration_is_whole(declaration: Operator) -> None:
    assert declaration.summary.endswith(".")
    assert declaration.special_values.endswith(".")
    assert declaration.error.summary
    assert declaration.family
    assert declaration.version >= 1
    assert all(each.summary for each in declaration.attributes)
    extra = any(each.name == "dtype" for each in declaration.attributes)
    for key, results in declaration.dtypes.items():
        assert len(key) == len(declaration.operands) + extra
        assert {*key, *results} <= set(DTYPES)


def test_names_are_unique_and_unknown_ones_are_refused() -> None:
    assert all(name == declaration.name for name, declaration in OPERATORS.items())
    with pytest.raises(GraphError) as refusal:
        operator("__import__")
    assert refusal.value.code == "unknown_operator"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", 5, True),
        ("integer", -(2**63), 2**64),
        ("integers", (1, 2), (1, 2.0)),
        ("float", float("inf"), 1),
        ("boolean", False, 0),
        ("dtype", "bool", "string"),
    ],
)
def test_attributes_have_a_kind(kind: Any, good: Any, bad: Any) -> None:
    assert fits(kind, good)
    assert not fits(kind, bad)
