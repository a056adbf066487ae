"""Every operator of the catalogue by its own name, on lazy arrays: `operators.layer_norm(...)`.

The functions of `gpugoblin.xp` promote and broadcast; these take what the declaration says
(`python -m opgraph catalogue`), and nothing else: operands of one element type, shapes as they
are, every attribute. They are for what the Array API has no function for: neural operators,
gradients, convolutions, pooling.

>>> from gpugoblin import operators, xp
>>> operators.relu(xp.asarray([-1.0, 2.0])).compute()
array([0., 2.])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugoblin.array import Array
from gpugoblin.arrays.building import apply_all, array_of
from gpugoblin.arrays.dtypes import as_dtype
from gpugoblin.errors import BadArgument
from opgraph.catalogue import OPERATORS, Operator
from opgraph.catalogue.attributes import Attribute, AttributeValue
from opgraph.catalogue.description import signature

Function = Callable[..., Any]


def __getattr__(name: str) -> Function:
    """The operator of that name. Raises AttributeError."""
    if name not in OPERATORS:
        raise AttributeError(f"The catalogue has no operator {name!r}.")
    function = _function(OPERATORS[name])
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted(OPERATORS)


def _function(operator: Operator) -> Function:
    def function(*operands: Any, **attributes: Any) -> Array | tuple[Array, ...]:
        made = apply_all(
            operator.name,
            [array_of(each, "An operand") for each in operands],
            _read(operator, attributes),
        )
        return made[0] if len(made) == 1 else made

    function.__name__ = function.__qualname__ = operator.name
    function.__doc__ = f"{signature(operator)}: {operator.summary} {operator.special_values}"
    return function


def _read(operator: Operator, given: Mapping[str, Any]) -> dict[str, AttributeValue]:
    wanted = {each.name: each for each in operator.attributes}
    if given.keys() != wanted.keys():
        raise BadArgument(
            f"{signature(operator)} takes the attributes {', '.join(wanted) or 'none'}, by name;"
            f" not {', '.join(given) or 'none'}."
        )
    return {name: _as_kind(wanted[name], value) for name, value in given.items()}


def _as_kind(attribute: Attribute, value: Any) -> AttributeValue:
    """What people write for an attribute: lists for tuples, 1 for 1.0, dtypes for their names."""
    if attribute.kind == "dtype":
        return as_dtype(value).name
    if isinstance(value, list):
        value = tuple(value)
    if attribute.kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not attribute.fits(value):
        raise BadArgument(f"{attribute.name} must be {attribute.wanted}, not {value!r}.")
    made: AttributeValue = value
    return made
