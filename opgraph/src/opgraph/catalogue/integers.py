"""Bits of integers and booleans."""

from __future__ import annotations

from collections.abc import Sequence

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import Call, Count, Implementation, Operator, Types, nothing
from opgraph.catalogue.elementwise import ufunc
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, same_dtype, same_shape
from opgraph.errors import ComputationError
from opgraph.tensors import INTEGERS, Array, itemsize

_PLAIN = "There are no special values."


def _bits(
    name: str,
    summary: str,
    *,
    numpy_name: str = "",
    dtypes: Sequence[str] = (*INTEGERS, "bool"),
    arity: int = 2,
    run: Implementation | None = None,
    special: str = _PLAIN,
    temporaries: Count = nothing,
    in_place: tuple[int, ...] | None = None,
) -> Operator:
    return Operator(
        name=name,
        family="integers",
        summary=summary,
        operands=("left", "right") if arity > 1 else ("operand",),
        dtypes=same_dtype(arity, dtypes),
        shapes=same_shape,
        run=run or ufunc(numpy_name or name),
        flops=ONE_PER_ELEMENT,
        temporaries=temporaries,
        error=EXACT,
        special_values=special,
        in_place=tuple(range(arity)) if in_place is None else in_place,
    )


def _width(array: Array) -> int:
    return 8 * int(array.dtype.itemsize)


def _checked(amount: Array) -> Array:
    """Shifts are not negative. Which of them are as long as the number is wide, or longer."""
    if amount.dtype.kind == "i" and bool((amount < 0).any()):
        raise ComputationError("negative_shift", "A number is shifted by less than 0 places.")
    return amount >= _width(amount)


def _shift_left(call: Call) -> None:
    operand, amount = call.operands
    out = _checked(amount)
    call.xp.left_shift(operand, amount, out=call.results[0])
    call.xp.copyto(call.results[0], call.results[0].dtype.type(0), where=out)


def _shift_right(call: Call) -> None:
    # The sign of what is shifted out stays: what is left of a negative number is -1.
    operand, amount = call.operands
    _checked(amount)
    most = amount.dtype.type(_width(amount) - 1)
    if operand.dtype.kind == "i":
        call.xp.right_shift(operand, call.xp.minimum(amount, most), out=call.results[0])
        return
    out = amount > most
    call.xp.right_shift(operand, amount, out=call.results[0])
    call.xp.copyto(call.results[0], call.results[0].dtype.type(0), where=out)


def _shift_left_bytes(types: Types, _attributes: Attributes) -> int:
    return 2 * types[0].elements if types[0].dtype.startswith("int") else types[0].elements


def _shift_right_bytes(types: Types, _attributes: Attributes) -> int:
    size = itemsize(types[0].dtype) if types[0].dtype.startswith("int") else 1
    return types[0].elements * max(size, 1) + types[0].elements


def _count_bits(call: Call) -> None:
    """Sums of neighbouring bits, pairs, and so on (H. S. Warren, Hacker's Delight, 5-1)."""
    xp, result = call.xp, call.results[0]
    unsigned = xp.dtype(f"uint{_width(result)}")
    bits = call.operands[0].view(unsigned).copy()
    high = xp.empty_like(bits)
    for shift, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        everywhere = unsigned.type(int.from_bytes(bytes([mask]) * unsigned.itemsize, "little"))
        xp.right_shift(bits, unsigned.type(shift), out=high)
        high &= everywhere
        bits &= everywhere
        bits += high
    bits *= unsigned.type(int.from_bytes(b"\x01" * unsigned.itemsize, "little"))
    bits >>= unsigned.type(_width(result) - 8)
    result.view(unsigned)[...] = bits


def _count_bits_bytes(types: Types, _attributes: Attributes) -> int:
    return 2 * types[0].nbytes


def _integer_power(call: Call) -> None:
    base, exponent = call.operands
    if exponent.dtype.kind == "i" and exponent.size and int(exponent.min()) < 0:
        raise ComputationError("negative_exponent", "An exponent of integers is negative.")
    call.xp.power(base, exponent, out=call.results[0])


BITWISE_AND = _bits("bitwise_and", "Bits that are set in both.")
BITWISE_OR = _bits("bitwise_or", "Bits that are set in one.")
BITWISE_XOR = _bits("bitwise_xor", "Bits that are set in just one.")
BITWISE_INVERT = _bits("bitwise_invert", "Every bit turned around.", numpy_name="invert", arity=1)
BITWISE_LEFT_SHIFT = _bits(
    "bitwise_left_shift",
    "left times 2^right, modulo 2^w.",
    dtypes=INTEGERS,
    run=_shift_left,
    special="By the width or more it is 0; by less than 0 is an error.",
    temporaries=_shift_left_bytes,
    in_place=(0,),
)
BITWISE_RIGHT_SHIFT = _bits(
    "bitwise_right_shift",
    "floor(left / 2^right).",
    dtypes=INTEGERS,
    run=_shift_right,
    special="By the width or more it is 0, of negative numbers -1; by less than 0 is an error.",
    temporaries=_shift_right_bytes,
    in_place=(0,),
)
COUNT_BITS = _bits(
    "count_bits",
    "How many bits of its two's complement are set.",
    dtypes=INTEGERS,
    arity=1,
    run=_count_bits,
    temporaries=_count_bits_bytes,
)
GCD = _bits(
    "gcd",
    "The greatest common divisor.",
    dtypes=INTEGERS,
    special="gcd(0, 0) is 0; the smallest signed integer with itself or 0 wraps.",
)
INTEGER_POWER = _bits(
    "integer_power",
    "left to the power of right, modulo 2^w.",
    dtypes=INTEGERS,
    run=_integer_power,
    special="0 to 0 is 1; an exponent below 0 is an error.",
)

OPERATORS = (
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    BITWISE_INVERT,
    BITWISE_LEFT_SHIFT,
    BITWISE_RIGHT_SHIFT,
    COUNT_BITS,
    GCD,
    INTEGER_POWER,
)
