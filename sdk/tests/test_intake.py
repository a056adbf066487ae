"""Arrays of any library, and their bytes in pieces."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from goblin_wire.blobs import array_digest
from gpugoblin import errors, intake

arrays = hn.arrays(
    st.sampled_from([">f4", "<f4", ">f8", "<f8"]),
    hn.array_shapes(min_dims=0, max_dims=3, min_side=0),
)


@given(arrays, st.booleans(), st.integers(1, 200))
def test_pieces_are_the_bytes_in_c_order(array: Any, fortran: bool, size: int) -> None:
    given_array = numpy.asfortranarray(array) if fortran else array
    wanted = array.astype(array.dtype.newbyteorder("<")).tobytes()
    found = list(intake.pieces(given_array, size))
    assert b"".join(found) == wanted
    assert all(len(piece) <= max(size, array.itemsize) for piece in found)


@given(arrays)
def test_the_digest_is_the_wires(array: Any) -> None:
    content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert intake.digest(array) == array_digest(array.dtype.name, array.shape, content)
    assert intake.digest(numpy.asfortranarray(array).reshape(array.shape)) == intake.digest(array)


def test_a_contiguous_array_is_not_copied() -> None:
    array = numpy.zeros(1000)
    (piece,) = intake.pieces(array, 1 << 20)
    array[0] = 1.0
    assert bytes(piece[:8]) == numpy.float64(1).tobytes()


class Interface:
    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self._kept = array


class Method:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.ones(3)


class Tensor:
    """Only `__dlpack__`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnGpu:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_anything_with_a_protocol_is_an_array() -> None:
    a = numpy.arange(6.0).reshape(2, 3)
    for x in (a, Interface(a), Tensor(a), a.view(numpy.matrix)):
        assert numpy.array_equal(intake.as_numpy(x), a)
    assert intake.as_numpy(Method()).shape == (3,)
    assert intake.as_numpy(numpy.float64(3)).shape == ()


@pytest.mark.parametrize("x", [[1.0, 2.0], 3.0, "text", None, object()])
def test_what_is_no_array(x: object) -> None:
    with pytest.raises(errors.BadArray, match=r"numpy\.asarray\(x\)"):
        intake.as_numpy(x)


def test_numbers_on_a_gpu_say_how_to_move_them() -> None:
    with pytest.raises(errors.BadArray, match=r"cuda:0.*\.cpu\(\)"):
        intake.as_numpy(OnGpu())


def test_a_mask_is_not_lost_silently() -> None:
    with pytest.raises(errors.BadArray, match="filled"):
        intake.as_numpy(numpy.ma.masked_array(numpy.ones(3), [True, False, False]))
